"""Our builder code against the signatures of enterprise TensorRT's Python API, without its library."""
