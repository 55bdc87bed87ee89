"""A file to a loaded network: ONNX unless it is a script; and the walked form that describes its layers."""

from __future__ import annotations

from pathlib import Path

from trtmc.compilers.openvino.graph.graph import Graph
from trtmc.compilers.openvino.graph.reader import read_network
from trtmc.network.loaded import LoadedNetwork
from trtmc.network.onnx_model import load_onnx


def load(path: Path) -> LoadedNetwork:
    """By suffix: .py is a script, everything else ONNX."""
    if path.suffix == ".py":
        from trtmc.network.script_model import load_script  # the ops are needed by scripts alone

        return load_script(path)
    return load_onnx(path)


def read(loaded: LoadedNetwork) -> Graph:
    """The network's layers."""
    return read_network(loaded.network, loaded.source())
