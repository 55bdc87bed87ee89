"""The CPU compiler: walks a finished INetworkDefinition and writes an OpenVINO model over the checkpoint's own bytes.

graph/     the network read into a small typed graph
patterns/  rewriting it into fused operations of our own
lowering/  graph -> model, a rule per kind of layer
ir/        the model's text form and its weights blob
"""
