"""Which TensorRT package this process defines its networks with: one per process, since a network belongs to the
library that made it. A target's compiler decides: enterprise TensorRT for its own targets, TensorRT-RTX for all others
(the CPU target too). `trtmc.ops.lowering.api` imports what was chosen here, on its first use.
"""

from __future__ import annotations

import importlib.util

from trtmc.core.errors import InternalError, MissingComponent

DEFAULT = "tensorrt_rtx"
ENTERPRISE = "tensorrt"

_wanted = DEFAULT
_in_use = False


def choose(compiler: str) -> None:
    """Chooses the package for a compiler's networks; raises if it isn't installed or another one is in use already."""
    global _wanted
    package = ENTERPRISE if compiler == ENTERPRISE else DEFAULT
    if package == ENTERPRISE and importlib.util.find_spec(package) is None:
        raise MissingComponent(
            "compiler.package_missing", f"compiler '{compiler}' needs the Python package '{package}'; install it"
        )
    if _in_use and package != _wanted:
        raise InternalError(
            "builder.two_packages",
            f"this process defines networks with '{_wanted}' already, so '{package}' needs a process of its own",
        )
    _wanted = package


def take() -> str:
    """The chosen package's name; from now on it's this process's only one."""
    global _in_use
    _in_use = True
    return _wanted
