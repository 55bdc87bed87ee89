"""Layers in plain numpy, written from TensorRT's documentation: what tests compare runs with.

Nothing here imports the compilers, the lowering or a runtime; loops are fine, speed is not the point. Floats are
computed in float64 and rounded where a layer says that it rounds.
"""
