"""TensorRT compilers, declared but not implemented in this version."""
