"""The name under which programs import TensorRT-RTX's bindings.

The package of that name on the index is a source archive that only depends on others.
"""

from tensorrt_rtx_bindings import *  # noqa: F403
from tensorrt_rtx_bindings import __version__  # noqa: F401
