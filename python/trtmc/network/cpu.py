"""A loaded network, compiled for the CPU in standard operations and ready to run.

Knows how values travel (numpy, and unsigned integers of the same width for types that numpy lacks); nothing of files.

    CpuNetwork(load_onnx(Path("model.onnx"))).run({"x": np.ones((2, 3), np.float32)})
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from trtmc.compilers.base import CompileOptions
from trtmc.compilers.openvino.compiler import OpenVinoCompiler
from trtmc.compilers.openvino.session import open_engine
from trtmc.core.contract import TensorSpec
from trtmc.core.errors import BadInput, InternalError
from trtmc.core.target import TargetInfo
from trtmc.network.describe import layers
from trtmc.network.load import read
from trtmc.network.loaded import LoadedNetwork

_TARGET = TargetInfo("cpu_x86_64", "openvino", "in memory")


_NODE = re.compile(r"node with name '([^']*)'|[Ww]hile validating node '[^']*? ([^ ']+)'")
_WHO = re.compile(r"^\[CPU\] \w+ node with name '[^']*'\s*")  # said in our own words
_WHERE = re.compile(r"\s+(?:failed )?at src/\S+:\d+")  # a place in OpenVINO's sources
_SIZES = re.compile(r"(?:shape|dims|dimensions)[^\n]*[{\[][^\n]*", re.IGNORECASE)


class CpuNetwork:
    """`inputs` and `outputs` are those of the network, in its order."""

    def __init__(self, loaded: LoadedNetwork) -> None:
        options = CompileOptions(_TARGET, {"kernels": "openvino"})
        self._loaded = loaded
        _check_names(loaded)
        engine = OpenVinoCompiler().compile(loaded.source(), options)
        self.inputs: tuple[TensorSpec, ...] = engine.contract.inputs
        self.outputs: tuple[TensorSpec, ...] = engine.contract.outputs
        try:
            self._runner = open_engine(b"".join(engine.chunks()))
        except RuntimeError as error:
            raise InternalError(
                "network.openvino", f"{loaded.origin}: OpenVINO refuses the walked network: {_told(error)}"
            ) from error

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All outputs by name."""
        try:
            return self._runner.run(inputs)
        except RuntimeError as error:
            shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in inputs.items())
            raise BadInput(
                "network.input_shape",
                f"{self._loaded.origin}: the network can't run on inputs of these sizes ({shapes}): "
                f"{_told(error)}{self._reads(error)}",
            ) from error

    def _reads(self, error: Exception) -> str:
        """What the layer that OpenVINO names takes, as the network declares it."""
        name = _layer(error)
        for entry in layers(read(self._loaded)) if name else ():
            if entry["name"] == name:
                return f" -- the layer takes {', '.join(filter(None, entry['inputs']))}"
        return ""


def _check_names(loaded: LoadedNetwork) -> None:
    network = loaded.network
    for kind, tensors in (
        ("input", [network.get_input(i) for i in range(network.num_inputs)]),
        ("output", [network.get_output(i) for i in range(network.num_outputs)]),
    ):
        names = [tensor.name for tensor in tensors]
        if "" in names:
            raise BadInput("network.unnamed", f"{loaded.origin}: {kind} {names.index('')} has no name; give it one")


def _layer(error: Exception) -> str:
    node = _NODE.search(str(error))
    return next((name for name in node.groups() if name), "").rsplit("/", 1)[0] if node else ""


def _told(error: Exception) -> str:
    """The layer and the sizes from OpenVINO's message of many lines; the names of layers are ours."""
    text, layer = str(error), _layer(error)
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _SIZES.search(line)] or lines[-1:]
    said = _WHERE.sub("", _WHO.sub("", telling[-1]))[:300].rstrip(" :")
    return (f"layer '{layer}': " if layer else "") + said
