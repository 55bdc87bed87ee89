"""Compilers by the name that a target gives them; each is imported only when asked for."""

from __future__ import annotations

import importlib

from trtmc.compilers.base import Compiler
from trtmc.core import tensorrt_package
from trtmc.core.errors import MissingComponent, UsageError

_PLACES = {
    "openvino": ("trtmc.compilers.openvino.compiler", "OpenVinoCompiler"),
    "tensorrt_rtx": ("trtmc.compilers.tensorrt.compiler", "TensorRtRtxCompiler"),
    "tensorrt": ("trtmc.compilers.tensorrt.compiler", "TensorRtCompiler"),
}


def compiler_names() -> tuple[str, ...]:
    """All names that targets may use."""
    return tuple(sorted(_PLACES))


def find_compiler(name: str) -> Compiler:
    """The compiler of that name; networks for it are defined with its own TensorRT package from then on."""
    if name not in _PLACES:
        raise UsageError("compiler.unknown", f"there is no compiler '{name}'; known are {', '.join(compiler_names())}")
    tensorrt_package.choose(name)
    module, attribute = _PLACES[name]
    try:
        return getattr(importlib.import_module(module), attribute)()
    except ModuleNotFoundError as error:
        raise MissingComponent(
            "compiler.package_missing", f"compiler '{name}' needs the Python package '{error.name}'; install it"
        ) from error
