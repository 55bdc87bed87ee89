"""The walked network as a small typed graph: what patterns match on and what the lowering reads.

`graph.py` and `constant.py` know neither TensorRT nor OpenVINO; `reader.py` is the only module that touches
a TensorRT object. So a pattern or a lowering rule can be tested with a graph made by hand.
"""
