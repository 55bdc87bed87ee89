"""TensorRT-Model-Connect: checkpoints in, deployable bundles out. The builder lives here; the runtime is C++."""

from pkgutil import extend_path

# The compiled part, trtmc.runtime, lives in another folder of the import path.
__path__ = extend_path(__path__, __name__)
