"""TensorRT-Model-Connect: checkpoints in, deployable bundles out. The builder lives here; the runtime is C++."""
