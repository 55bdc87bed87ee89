"""Test support: a small TensorRT network written as a function, compiled for the CPU and run.

def double(net):
    x = net.input("x", DType.F32, (-1, 3))
    net.output("y", net.trt.add_elementwise(x, x, EW.SUM))

run(double, x=np.ones((2, 3), np.float32))["y"]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorrt_rtx as trt

from trtmc.compilers.base import CompileOptions
from trtmc.compilers.openvino.compiler import OpenVinoCompiler, OpenVinoEngine
from trtmc.compilers.openvino.graph.reader import DTYPES
from trtmc.compilers.openvino.plain_network import PlainNetwork
from trtmc.compilers.openvino.session import Runner, open_engine
from trtmc.core.dtype import DType
from trtmc.core.target import TargetInfo

TARGET = TargetInfo("cpu_x86_64", "openvino", "test")
_TO_TRT = {ours: theirs for theirs, ours in DTYPES.items()}


class TestNetwork:
    """A strongly typed network under construction; `trt` is the INetworkDefinition itself."""

    __test__ = False

    def __init__(self) -> None:
        self._builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
        self.trt = self._builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self._keep: list[np.ndarray] = []

    def input(self, name: str, dtype: DType, shape: tuple[int, ...]) -> Any:
        """A network input."""
        return self.trt.add_input(name, _TO_TRT[dtype], shape)

    def const(self, array: np.ndarray, dtype: DType | None = None, shape: tuple[int, ...] | None = None) -> Any:
        """A constant over the array's memory; `dtype` says what raw integers hold (bfloat16, packed int4)."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        self._keep.append(array)
        kind = _TO_TRT[dtype] if dtype is not None else getattr(trt.DataType, _NAMES[array.dtype.name])
        shape = array.shape if shape is None else shape
        weights = trt.Weights(kind, array.ctypes.data, int(np.prod(shape)))
        return self.trt.add_constant(shape, weights).get_output(0)

    def keep(self, array: np.ndarray) -> np.ndarray:
        """Holds the memory of weights that are handed straight to a layer."""
        self._keep.append(array)
        return array

    def output(self, name: str, layer: Any, index: int = 0) -> None:
        """Marks a layer's output (or a tensor) under a name."""
        tensor = layer if isinstance(layer, trt.ITensor) else layer.get_output(index)
        tensor.name = name
        self.trt.mark_output(tensor)

    def source(self) -> PlainNetwork:
        """The finished network."""
        return PlainNetwork(self.trt, (self._builder, self._keep))


_NAMES = {
    "float32": "FLOAT",
    "float16": "HALF",
    "int64": "INT64",
    "int32": "INT32",
    "int8": "INT8",
    "uint8": "UINT8",
    "bool": "BOOL",
}


def compile_network(define: Callable[[TestNetwork], None], **options: str) -> OpenVinoEngine:
    """Compiles the network that `define` makes."""
    network = TestNetwork()
    define(network)
    return OpenVinoCompiler().compile(network.source(), CompileOptions(TARGET, options))


def runner(define: Callable[[TestNetwork], None], **options: str) -> Runner:
    """The compiled network, ready to run."""
    return open_engine(b"".join(compile_network(define, **options).chunks()))


def run(define: Callable[[TestNetwork], None], **inputs: np.ndarray) -> dict[str, np.ndarray]:
    """Standard operations on OpenVINO, once."""
    return runner(define, kernels="openvino").run(inputs)
