"""A stable text form of any finished INetworkDefinition, for golden tests and for reading.

Tensors are numbered in order of creation, so the text does not depend on addresses or on TensorRT's own naming.
Constants show type, shape and a hash of their bytes. One layer a line:

    %7 = MATRIX_MULTIPLY(%5, %6) op0=NONE op1=TRANSPOSE : float16[?,?,48]  # model.layers.0.mlp.up_proj/matmul
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

from trtmc.ops.lowering.api import FROM_TRT, trt

_Details = Callable[[Any], dict[str, Any]]


def network_text(network: Any, *, hashes: bool = True) -> str:
    """The text of a network; without `hashes` constants show no content, so that weights do not matter."""
    return "\n".join(_lines(network, hashes)) + "\n"


def layer_counts(network: Any) -> dict[str, int]:
    """How many layers of each kind a network has, by name of the kind."""
    kinds = Counter(network.get_layer(index).type.name for index in range(network.num_layers))
    return dict(sorted(kinds.items()))


def _lines(network: Any, hashes: bool) -> Iterator[str]:
    numbers: dict[str, str] = {}
    for index in range(network.num_inputs):
        tensor = network.get_input(index)
        numbers[tensor.name] = f"%{tensor.name}"
        yield f"input %{tensor.name} : {_type(tensor)}"
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
        for tensor in outputs:
            numbers[tensor.name] = f"%{len(numbers) - network.num_inputs}"
        yield _layer(layer, outputs, numbers, hashes)
    for index in range(network.num_outputs):
        tensor = network.get_output(index)
        yield f"output {tensor.name} = {numbers[tensor.name]} : {_type(tensor)}"


def _layer(layer: Any, outputs: Iterable[Any], numbers: dict[str, str], hashes: bool) -> str:
    kind, name = layer.type, layer.name  # read before the class changes: some layers hide `type`
    operands = [layer.get_input(i) for i in range(layer.num_inputs)]
    shown = ", ".join("-" if t is None else numbers.get(t.name, "?") for t in operands)
    details = {**_details(layer, kind)}
    if kind == trt.LayerType.CONSTANT and hashes:
        details["sha256"] = _constant_hash(layer)
    text = "".join(f" {key}={value}" for key, value in details.items())
    results = list(outputs)
    left = ", ".join(numbers[t.name] for t in results)
    types = ", ".join(_type(t) for t in results)
    return f"{left} = {kind.name}({shown}){text} : {types}  # {name}"


def _type(tensor: Any) -> str:
    names = [tensor.get_dimension_name(axis) for axis in range(len(tensor.shape))]
    dims = [name or ("?" if size < 0 else str(size)) for name, size in zip(names, tensor.shape, strict=True)]
    dtype = FROM_TRT[tensor.dtype].value if tensor.dtype in FROM_TRT else str(tensor.dtype)
    return f"{dtype}[{','.join(dims)}]"


def _details(layer: Any, kind: Any) -> dict[str, Any]:
    if kind not in _DETAILS:
        return {}
    native, read = _DETAILS[kind]
    layer.__class__ = native  # the network hands out base classes only
    return read(layer)


def _shuffle(layer: Any) -> dict[str, Any]:
    details: dict[str, Any] = {}
    for key, value, rank in (
        ("first", layer.first_transpose, len(layer.get_input(0).shape)),
        ("then", layer.second_transpose, len(layer.get_output(0).shape)),
    ):
        order = tuple(value)[:rank]
        if order != tuple(range(rank)):
            details[key] = _plain(order)
    with suppress(TypeError, ValueError):  # never set: TensorRT gives None, or a size that has no length
        details["dims"] = _plain(tuple(layer.reshape_dims))
    return details


def _attention(layer: Any) -> dict[str, Any]:
    attention = layer.attention
    return {
        "norm": attention.norm_op.name,
        "causal": attention.causal_kind.name,
        "lengths": attention.key_value_lengths is not None,
        "mask": attention.mask is not None,
        "decomposable": attention.decomposable,
    }


_DETAILS: dict[Any, tuple[Any, _Details]] = {
    trt.LayerType.ACTIVATION: (trt.IActivationLayer, lambda a: {"type": a.type.name, "alpha": a.alpha, "beta": a.beta}),
    trt.LayerType.ATTENTION_OUTPUT: (trt.IAttentionOutputLayer, _attention),
    trt.LayerType.ELEMENTWISE: (trt.IElementWiseLayer, lambda a: {"op": a.op.name}),
    trt.LayerType.GATHER: (trt.IGatherLayer, lambda a: {"axis": a.axis, "mode": a.mode.name}),
    trt.LayerType.KV_CACHE_UPDATE: (trt.IKVCacheUpdateLayer, lambda a: {"mode": a.cache_mode.name}),
    trt.LayerType.MATRIX_MULTIPLY: (trt.IMatrixMultiplyLayer, lambda a: {"op0": a.op0.name, "op1": a.op1.name}),
    trt.LayerType.REDUCE: (
        trt.IReduceLayer,
        lambda a: {"op": a.op.name, "axes": f"{a.axes:b}", "keep_dims": a.keep_dims},
    ),
    trt.LayerType.ROTARY_EMBEDDING: (
        trt.IRotaryEmbeddingLayer,
        lambda a: {"interleaved": a.interleaved, "dim": a.rotary_embedding_dim},
    ),
    trt.LayerType.SHUFFLE: (trt.IShuffleLayer, _shuffle),
    trt.LayerType.UNARY: (trt.IUnaryLayer, lambda a: {"op": a.op.name}),
}


def _constant_hash(layer: Any) -> str:
    layer.__class__ = trt.IConstantLayer
    weights = layer.weights
    try:
        return hashlib.sha256(memoryview(weights).cast("B")).hexdigest()[:12]
    except TypeError:  # bfloat16 and sub-byte weights are opaque to Python
        return f"opaque:{weights.size}"


def _plain(values: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, values)) + ")"
