"""A loaded network, compiled for the CPU in standard operations and ready to run.

Knows how values travel (numpy, and unsigned integers of the same width for types that numpy lacks); nothing of files.

    CpuNetwork(load_onnx(Path("model.onnx"))).run({"x": np.ones((2, 3), np.float32)})
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from trtmc.compilers.base import CompileOptions
from trtmc.compilers.openvino.compiler import OpenVinoCompiler
from trtmc.compilers.openvino.session import open_engine
from trtmc.core.contract import TensorSpec
from trtmc.core.target import TargetInfo
from trtmc.network.loaded import LoadedNetwork

_TARGET = TargetInfo("cpu_x86_64", "openvino", "in memory")


class CpuNetwork:
    """`inputs` and `outputs` are those of the network, in its order."""

    def __init__(self, loaded: LoadedNetwork) -> None:
        options = CompileOptions(_TARGET, {"kernels": "openvino"})
        self._loaded = loaded
        engine = OpenVinoCompiler().compile(loaded.source(), options)
        self.inputs: tuple[TensorSpec, ...] = engine.contract.inputs
        self.outputs: tuple[TensorSpec, ...] = engine.contract.outputs
        self._runner = open_engine(b"".join(engine.chunks()))

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All outputs by name."""
        return self._runner.run(inputs)
