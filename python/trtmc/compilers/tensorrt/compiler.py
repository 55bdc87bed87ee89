"""The TensorRT compilers' place: both exist by name and refuse to compile with one sentence."""

from __future__ import annotations

from typing import NoReturn

from trtmc.compilers.base import CompileOptions, Compiler, NetworkSource
from trtmc.core.errors import Unsupported


class _NotYet(Compiler):
    def compile(self, source: NetworkSource, options: CompileOptions) -> NoReturn:
        raise Unsupported(
            "compiler.not_implemented",
            f"compiler '{self.name}' for target '{options.target.name}' is not implemented yet in this version; "
            "build for cpu_x86_64",
        )


class TensorRtRtxCompiler(_NotYet):
    """Ahead-of-time engines for RTX GPUs."""

    name = "tensorrt_rtx"


class TensorRtCompiler(_NotYet):
    """Engines of enterprise TensorRT, built on the GPU that runs them."""

    name = "tensorrt"
