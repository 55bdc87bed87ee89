"""Shuffle and gather layers."""

from __future__ import annotations

from typing import Any

from trtmc.ops.lowering.network import NetworkLowering

Axes = tuple[int, ...]


def reshape(net: NetworkLowering, x: Any, dims: Axes, *, first: Axes | None = None, then: Axes | None = None) -> Any:
    """Transpose by `first`, reshape (0 copies a dimension, -1 is inferred), transpose by `then`."""
    layer = net.network.add_shuffle(x)
    if layer is not None:
        layer.reshape_dims = dims
        if first is not None:
            layer.first_transpose = first
        if then is not None:
            layer.second_transpose = then
    return net.output(layer, "reshape")


def transpose(net: NetworkLowering, x: Any, order: Axes) -> Any:
    """Permutes dimensions."""
    layer = net.network.add_shuffle(x)
    if layer is not None:
        layer.first_transpose = order
    return net.output(layer, "transpose")


def gather_rows(net: NetworkLowering, x: Any, rows: Any) -> Any:
    """Rows by index."""
    return net.output(net.network.add_gather(x, rows, 0), "gather_rows")
