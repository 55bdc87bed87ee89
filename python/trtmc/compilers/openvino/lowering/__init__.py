"""Graph -> OpenVINO model: one module of rules per theme of layers, one table that finds the rule by kind.

All floating activations are float32 in the result; 16-bit weights stay 16-bit in the file. So a network's
half-precision rounding is not reproduced: what is computed is at least as precise.
"""
