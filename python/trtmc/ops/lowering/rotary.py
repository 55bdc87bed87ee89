"""The native rotary-embedding layer."""

from __future__ import annotations

from typing import Any

from trtmc.core.weights import ConstantData
from trtmc.ops.lowering.network import NetworkLowering

_POSITION_IDS = 3  # input slot of the layer


def rotary_embedding(
    net: NetworkLowering, x: Any, cos: ConstantData, sin: ConstantData, positions: Any, interleaved: bool
) -> Any:
    """Rotates all of the last dimension by the table rows that `positions` select."""
    layer = net.network.add_rotary_embedding(x, net.constant(cos), net.constant(sin), interleaved, x.shape[3])
    if layer is not None:
        layer.set_input(_POSITION_IDS, positions)
    return net.output(layer, "rotary")
