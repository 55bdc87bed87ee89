"""Attention over heads whose size TensorRT's 16-bit kernels do not take: padded with zeros to a multiple of eight.

TensorRT-RTX 1.7 refuses 16-bit attention whose heads are larger than 8 and not a multiple of 8 (12, 20, 100 …) with an
internal error ("tactics_tiled_layout"). Products with a constant that is one on its diagonal widen queries, keys and
values, and narrow the result again: the same numbers, since zeros add nothing. Only the network that is about to be
compiled changes; weights, caches and contract stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trtmc.core.dtype import DType
from trtmc.core.precision import convert
from trtmc.ops.lowering.api import FROM_TRT, TO_TRT, trt

_MULTIPLE = 8
_QUERY, _KEY, _VALUE = 0, 1, 2


def pad_heads(network: Any) -> list[np.ndarray]:
    """Pads every attention that needs it; returns what must live as long as the network."""
    keepalive: list[np.ndarray] = []
    readers = _readers(network)
    outputs = {network.get_output(index).name for index in range(network.num_outputs)}
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type != trt.LayerType.ATTENTION_OUTPUT:
            continue
        result, name = layer.get_output(0), layer.name
        if result.name in outputs:  # no reader to hand the narrow result to
            continue
        layer.__class__ = trt.IAttentionOutputLayer
        _pad(network, layer.attention, result, name, readers.get(result.name, []), keepalive)
    return keepalive


def needs_padding(dtype: DType, size: int) -> bool:
    """Whether heads of this size must be padded."""
    return dtype in (DType.F16, DType.BF16) and size > _MULTIPLE and size % _MULTIPLE != 0


def _pad(
    network: Any, attention: Any, result: Any, name: str, readers: list[tuple[Any, int]], keepalive: list[np.ndarray]
) -> None:
    query, key, value = (attention.get_input(slot) for slot in (_QUERY, _KEY, _VALUE))
    widen = {size: _widener(network, name, size, FROM_TRT[query.dtype], keepalive) for size in _sizes(query, value)}
    value_size = value.shape[3]
    for slot, tensor in ((_QUERY, query), (_KEY, key), (_VALUE, value)):
        if tensor.shape[3] in widen:
            attention.set_input(slot, widen[tensor.shape[3]](tensor, f"{name}/pad_{'qkv'[slot]}", False))
    if value_size in widen:
        narrowed = widen[value_size](result, f"{name}/narrow", True)
        for layer, slot in readers:
            layer.set_input(slot, narrowed)


def _sizes(query: Any, value: Any) -> set[int]:
    dtype = FROM_TRT[query.dtype]
    return {size for size in (query.shape[3], value.shape[3]) if needs_padding(dtype, size)}


def _widener(
    network: Any, name: str, size: int, dtype: DType, keepalive: list[np.ndarray]
) -> Callable[[Any, str, bool], Any]:
    """A function that multiplies by a [size, wider] identity, or by its transpose."""
    wide = -(-size // _MULTIPLE) * _MULTIPLE
    ones = convert(np.eye(size, wide, dtype=np.float32)[None, None], DType.F32, dtype, f"{name}/padding")
    keepalive.append(ones)
    constant = network.add_constant(ones.shape, trt.Weights(TO_TRT[dtype], ones.ctypes.data, ones.size))
    constant.name = f"{name}/padding_{size}"
    matrix = constant.get_output(0)

    def multiply(tensor: Any, layer_name: str, back: bool) -> Any:
        op = trt.MatrixOperation
        layer = network.add_matrix_multiply(tensor, op.NONE, matrix, op.TRANSPOSE if back else op.NONE)
        layer.name = layer_name
        return layer.get_output(0)

    return multiply


def _readers(network: Any) -> dict[str, list[tuple[Any, int]]]:
    """Who reads each tensor: layer and input slot, by the tensor's name."""
    found: dict[str, list[tuple[Any, int]]] = {}
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        for slot in range(layer.num_inputs):
            tensor = layer.get_input(slot)
            if tensor is not None:
                found.setdefault(tensor.name, []).append((layer, slot))
    return found
