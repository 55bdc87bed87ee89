"""The TensorRT compilers: a finished network becomes a plan for one target, ahead of time.

`compiler` is the entry; `configuration` sets the builder up (target, profiles), `plan` holds the result, `failure`
turns TensorRT's complaints into one error. TensorRT-RTX and enterprise TensorRT are the same code over two packages.
"""
