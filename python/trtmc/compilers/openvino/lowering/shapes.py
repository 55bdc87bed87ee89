"""Layers that move or relabel elements: shape, shuffle, concatenation, squeeze, unsqueeze, slice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type
from trtmc.core.dtype import COMPUTE_DTYPES

_BEFORE_START = -(2**31)  # a stop that a negative stride may run past


def shape(low: Lowering, node: Node) -> None:
    """The run-time shape, int64."""
    low.put(node.output, low.ops.shape_of(low.value(node.required(0))))


def shuffle(low: Lowering, node: Node) -> None:
    """Transpose, reshape (dims fixed or from input 1), transpose."""
    source, dims = node.required(0), node.attributes["reshape_dims"]
    x = low.value(source)
    first = tuple(node.attributes["first_transpose"])[: source.rank]
    if first != tuple(range(source.rank)):
        x = low.ops.transpose(x, first)
    zero = bool(node.attributes["zero_is_placeholder"])
    given = node.input(1)
    if given is not None:
        x = low.ops.reshape(x, _i64(low, given), zero)
    elif dims is not None:
        x = low.ops.reshape(x, low.dims_value(dims), zero)
    rank = node.output.rank
    second = tuple(node.attributes["second_transpose"])[:rank]
    if second != tuple(range(rank)):
        x = low.ops.transpose(x, second)
    low.put(node.output, x)


def concatenation(low: Lowering, node: Node) -> None:
    """Along one axis."""
    values = low.args(node)
    low.put(node.output, values[0] if len(values) == 1 else low.ops.concat(values, node.attributes["axis"]))


def squeeze(low: Lowering, node: Node) -> None:
    """Without axes every dimension that is statically 1 goes."""
    source = node.required(0)
    if node.input(1) is None:
        axes = tuple(i for i, d in enumerate(source.shape) if d == 1)
    else:
        axes = low.axes(node, node.input(1), source.rank)
    x = low.value(source)
    low.put(node.output, low.ops.squeeze(x, low.ops.i64(*axes)) if axes else x)


def unsqueeze(low: Lowering, node: Node) -> None:
    """Axes count in the result."""
    axes = low.axes(node, node.input(1), node.output.rank)
    low.put(node.output, low.ops.unsqueeze(low.value(node.required(0)), low.ops.i64(*axes)))


def slice_(low: Lowering, node: Node) -> None:
    """Starts, sizes, strides from attributes or inputs 1-3, fill value from input 4, axes from attribute or input 5."""
    source, mode = node.required(0), node.attributes["mode"]
    start, size, stride = (_Ints.of(low, node, i, key) for i, key in ((1, "start"), (2, "shape"), (3, "stride")))
    axes = _axes(low, node, source.rank)
    plain = mode in ("STRICT_BOUNDS", "DEFAULT")
    if axes is None and plain:  # known at run time only; a stride of zero, which is a broadcast, can't be among them
        given = _i64(low, node.required(5))
        low.put(node.output, _strided(low, low.value(source), start, size, stride, given))
    elif axes is None:
        given = _i64(low, node.required(5))
        spread = _over_all_axes(low, low.value(source), given, (start, size, stride), source.rank)
        low.put(node.output, _indexed(low, node, source, *spread, tuple(range(source.rank))))
    elif plain and stride.static is not None and 0 not in stride.static:
        low.put(node.output, _strided(low, low.value(source), start, size, stride, low.dims_value(axes)))
    else:
        low.put(node.output, _indexed(low, node, source, start, size, stride, axes))


def _axes(low: Lowering, node: Node, rank: int) -> tuple[int, ...] | None:
    """All axes by default; None if they come at run time."""
    given, axes = node.input(5), node.attributes["axes"]
    if given is not None:
        return low.axes(node, given, rank) if given.constant is not None else None
    return tuple(a % rank for a in axes) if axes is not None else tuple(range(rank))


@dataclass(frozen=True)
class _Ints:
    """A list of integers known now (`static`) or at run time (`value`)."""

    static: tuple[int, ...] | None
    value: Value

    @classmethod
    def of(cls, low: Lowering, node: Node, index: int, key: str) -> _Ints:
        """From an input if there is one, else from the attribute."""
        given = node.input(index)
        if given is not None and given.constant is None:
            return cls(None, _i64(low, given))
        known = given.constant.as_ints() if given is not None and given.constant is not None else None
        static = known if known is not None else tuple(node.attributes[key])
        return cls(static, low.dims_value(static))


def _over_all_axes(
    low: Lowering, x: Value, axes: Value, ints: tuple[_Ints, _Ints, _Ints], rank: int
) -> tuple[_Ints, _Ints, _Ints]:
    """Starts, sizes and strides for every axis, from those for axes that are known at run time only."""
    o = low.ops
    axes = o.select(o.compare("Less", axes, o.index(0)), o.add(axes, o.index(rank)), axes)
    plain = (low.dims_value((0,) * rank), o.shape_of(x), low.dims_value((1,) * rank))
    start, size, stride = (
        _Ints(None, o.scatter_elements(all_, axes, given.value, 0)) for all_, given in zip(plain, ints, strict=True)
    )
    return start, size, stride


def _i64(low: Lowering, tensor: Tensor) -> Value:
    return low.ops.convert(low.value(tensor), ElementType.I64)


def _strided(low: Lowering, x: Value, start: _Ints, size: _Ints, stride: _Ints, axes: Value) -> Value:
    """Slice with stop = start + size * stride; a stop before the first element must not be read as "from the end"."""
    o = low.ops
    if start.static is not None and size.static is not None and stride.static is not None:
        raw = [a + n * s for a, n, s in zip(start.static, size.static, stride.static, strict=True)]
        stop = low.dims_value([_BEFORE_START if e < 0 else e for e in raw])
    else:
        stop = o.add(start.value, o.multiply(size.value, stride.value))
        if stride.static is None or min(stride.static, default=1) < 0:
            stop = o.select(o.compare("Less", stop, o.index(0)), o.index(_BEFORE_START), stop)
    return o.slice(x, start.value, stop, stride.value, axes)


def _indexed(
    low: Lowering, node: Node, source: Tensor, start: _Ints, size: _Ints, stride: _Ints, axes: tuple[int, ...]
) -> Value:
    """Any mode and any stride: gather along each axis by computed indices; FILL masks what lies outside."""
    o, mode = low.ops, node.attributes["mode"]
    x = low.value(source)
    inside: Value | None = None
    for position, axis in enumerate(axes):
        pick = o.index(position)
        first, count, step = (o.gather(v.value, pick, 0) for v in (start, size, stride))
        at = o.add(first, o.multiply(o.range(o.index(0), count, o.index(1)), step))
        extent = o.dim(x, axis)
        last = o.subtract(extent, o.index(1))
        if mode == "FILL":
            ok = o.logical("LogicalAnd", o.compare("GreaterEqual", at, o.index(0)), o.compare("LessEqual", at, last))
            spread = [d for d in range(source.rank) if d != axis]
            ok = o.unsqueeze(ok, o.i64(*spread)) if spread else ok
            inside = ok if inside is None else o.logical("LogicalAnd", inside, ok)
        x = o.gather(x, _folded(low, node, mode, at, extent, last), axis)
    if inside is None:
        return x
    fill = node.input(4)
    is_float = source.dtype in COMPUTE_DTYPES
    zero = o.f32(0.0) if is_float else o.array(np.zeros((), source.dtype.storage), operand_type(source.dtype))
    return o.select(inside, x, low.value(fill) if fill is not None else zero)


def _folded(low: Lowering, node: Node, mode: str, at: Value, extent: Value, last: Value) -> Value:
    """Indices brought into [0, last] the way the mode says."""
    o = low.ops
    if mode in ("STRICT_BOUNDS", "DEFAULT"):
        return at
    if mode in ("CLAMP", "FILL"):
        return o.binary("Minimum", o.binary("Maximum", at, o.index(0)), last)
    if mode == "WRAP":
        return o.binary("FloorMod", at, extent)
    if mode == "REFLECT":  # period 2 * last without repeating the border
        period = o.binary("Maximum", o.multiply(last, o.index(2)), o.index(1))
        inner = o.binary("FloorMod", at, period)
        return o.binary("Minimum", inner, o.subtract(period, inner))
    raise low.refusal(node, f"slice mode {mode}")


RULES: dict[str, Rule] = {
    "SHAPE": shape,
    "SHUFFLE": shuffle,
    "CONCATENATION": concatenation,
    "SQUEEZE": squeeze,
    "UNSQUEEZE": unsqueeze,
    "SLICE": slice_,
}
