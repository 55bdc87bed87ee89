"""Layers that combine elements along axes: reduce, softmax (ragged too), top-k, cumulative sum, normalization."""

from __future__ import annotations

from math import prod

import numpy as np

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type
from trtmc.core.dtype import COMPUTE_DTYPES

_REDUCE = {"SUM": "ReduceSum", "PROD": "ReduceProd", "MAX": "ReduceMax", "MIN": "ReduceMin", "AVG": "ReduceMean"}
_LARGEST = float(np.finfo(np.float32).max)
_INFINITY = {
    "MAX": (-np.inf, "GreaterEqual", -_LARGEST),
    "MIN": (np.inf, "LessEqual", _LARGEST),
}


def reduce(low: Lowering, node: Node) -> None:
    """Over a set of axes; NONE means no reduction at all."""
    x, op = low.value(node.required(0)), node.attributes["op"]
    if op == "NONE":
        low.put(node.output, x)
        return
    if op not in _REDUCE:
        raise low.refusal(node, f"reduction {op}")
    axes, keep = node.attributes["axes"], node.attributes["keep_dims"]
    y = low.ops.reduce(_REDUCE[op], x, axes, keep)
    if op in _INFINITY and node.required(0).dtype in COMPUTE_DTYPES:
        y = _with_infinity(low, x, y, axes, keep, *_INFINITY[op])
    low.put(node.output, y)


def _with_infinity(
    low: Lowering, x: Value, y: Value, axes: tuple[int, ...], keep: bool, infinity: float, inside: str, limit: float
) -> Value:
    """The plugin starts a maximum at the lowest float, so a row of nothing but -inf would come out finite."""
    o = low.ops
    finite = o.compare(inside, x, o.f32(limit))
    some = low.model.add("ReduceLogicalOr", [finite, o.i64(*axes)], [ElementType.BOOLEAN], {"keep_dims": keep}).value()
    return o.select(some, y, o.f32(infinity))


def softmax(low: Lowering, node: Node) -> None:
    """Along exactly one axis."""
    (axis,) = node.attributes["axes"]
    low.put(node.output, low.ops.softmax(low.value(node.required(0)), axis))


def ragged_softmax(low: Lowering, node: Node) -> None:
    """Over the first bounds[z] elements of each row of the last dimension; the others are zero."""
    o = low.ops
    x, bounds = low.args(node)
    columns = o.range(o.index(0), o.dim(x, node.required(0).rank - 1), o.index(1))
    valid = o.compare("Less", columns, o.convert(bounds, ElementType.I64))
    y = o.softmax(o.select(valid, x, o.f32(-_LARGEST)), -1)
    low.put(node.output, o.select(valid, y, o.f32(0.0)))


def top_k(low: Lowering, node: Node) -> None:
    """Values and indices; k from the attribute or input 1."""
    (axis,) = node.attributes["axes"]
    given = node.input(1)
    if given is None:
        k = low.ops.index(node.attributes["k"])
    else:
        k = low.ops.reshape(low.ops.convert(low.value(given), ElementType.I64), low.dims_value(()))
    largest = node.attributes["op"] == "MAX"
    index_type = operand_type(node.outputs[1].dtype)
    values, indices = low.ops.top_k(low.value(node.required(0)), k, axis, largest, index_type)
    low.put(node.outputs[0], values)
    low.put(node.outputs[1], indices)


def cumulative(low: Lowering, node: Node) -> None:
    """A running sum along the axis that input 1 names."""
    axis = low.ops.reshape(low.value(node.required(1)), low.dims_value(()))
    exclusive, reverse = node.attributes["exclusive"], node.attributes["reverse"]
    low.put(node.output, low.ops.cumsum(low.value(node.required(0)), axis, exclusive, reverse))


def normalization(low: Lowering, node: Node) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias over the axes; with groups, over each group of channels."""
    source, groups = node.required(0), node.attributes["num_groups"]
    x, scale, bias = low.args(node)
    axes = node.attributes["axes"]
    if groups == 1:
        y = _standardized(low, x, axes, node.attributes["epsilon"])
    else:
        y = _grouped(low, node, x, groups)
        shape = node.required(1).shape
        if shape[1] == groups and shape[1] != source.shape[1]:  # one factor per group: repeat it for each channel
            scale, bias = (_per_channel(low, v, groups, source.shape) for v in (scale, bias))
    low.put(node.output, low.ops.add(low.ops.multiply(y, scale), bias))


def _standardized(low: Lowering, x: Value, axes: tuple[int, ...], epsilon: float) -> Value:
    attributes: dict[str, Attribute] = {"eps": float(epsilon), "eps_mode": "inside_sqrt", "normalize_variance": True}
    return low.model.add("MVN", [x, low.ops.i64(*axes)], [x.type], attributes, "opset6").value()


def _grouped(low: Lowering, node: Node, x: Value, groups: int) -> Value:
    channels = node.required(0).shape[1]
    if channels < 0 or channels % groups:
        raise low.refusal(node, f"{groups} groups of {channels} channels")
    original = low.ops.shape_of(x)
    split = low.ops.reshape(x, low.ops.i64(0, groups, -1), zero_copies=True)
    return low.ops.reshape(_standardized(low, split, (2,), node.attributes["epsilon"]), original)


def _per_channel(low: Lowering, value: Value, groups: int, shape: tuple[int, ...]) -> Value:
    per = shape[1] // groups
    flat = low.ops.reshape(value, low.ops.i64(groups, 1))
    wide = low.ops.broadcast(flat, low.ops.i64(groups, per))
    return low.ops.reshape(wide, low.dims_value((1, prod((groups, per)), *(1 for _ in shape[2:]))))


RULES: dict[str, Rule] = {
    "RAGGED_SOFTMAX": ragged_softmax,
    "REDUCE": reduce,
    "SOFTMAX": softmax,
    "TOPK": top_k,
    "CUMULATIVE": cumulative,
    "NORMALIZATION": normalization,
}
