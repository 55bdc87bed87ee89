"""Dynamic quantization: block scales computed from the values, then the values quantized with them.

A block's scale is its greatest magnitude over the type's largest value. Stored as float8 it is divided by the second
scale (input 1) and rounded to the nearest; as a power of two it is rounded up, so that nothing saturates (2**-126 at
least). Values are divided by the scale as stored; a block whose stored scale is zero gives zeros. TensorRT's pages name
the types and blocks, not these roundings: they are those of NVIDIA's own quantization tools.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import NARROW_FLOATS, Lowering, Rule
from trtmc.core.dtype import DType

_LEAST_POWER = 2.0**-126


def dynamic_quantize(low: Lowering, node: Node) -> None:
    """Outputs: the quantized values, and one scale for each block."""
    values, scales = node.outputs
    if values.dtype not in (DType.F4_E2M1, DType.F8_E4M3):
        raise low.refusal(node, f"quantized values of type {values.dtype}")
    o, source = low.ops, node.required(0)
    blocks = _blocks(low, node)
    x = low.value(source)
    shape = o.shape_of(x)
    split: list[Value] = []
    for axis, block in enumerate(blocks):
        extent = o.gather(shape, o.i64(axis), 0)
        split += [extent] if block == 1 else [o.divide(extent, o.i64(block)), o.i64(block)]
    inner = [axis + 1 + sum(b != 1 for b in blocks[:axis]) for axis, block in enumerate(blocks) if block != 1]
    parts = o.reshape(x, o.concat(split, 0))
    greatest = o.reduce("ReduceMax", o.unary("Abs", parts), inner, True) if inner else o.unary("Abs", parts)
    ideal = o.divide(greatest, o.f32(NARROW_FLOATS[values.dtype]))
    stored, used = _stored(low, node, ideal, scales.dtype)
    none = o.compare("Equal", used, o.f32(0.0))
    ratio = o.select(none, o.f32(0.0), o.divide(parts, o.select(none, o.f32(1.0), used)))
    low.put(values, o.reshape(low.narrowed(ratio, values.dtype), shape))
    low.put(scales, o.squeeze(stored, o.i64(*inner)) if inner else stored)


def _blocks(low: Lowering, node: Node) -> tuple[int, ...]:
    """The block's size along each axis."""
    shape, given = node.required(0).shape, node.attributes["block_shape"]
    if given:
        blocks = tuple(size if block == -1 else block for size, block in zip(shape, given, strict=True))
    else:
        axis = node.attributes["axis"] % len(shape)
        blocks = tuple(node.attributes["block_size"] if i == axis else 1 for i in range(len(shape)))
    for size, block in zip(shape, blocks, strict=True):
        if block < 1 or (size > 0 and size % block):
            raise low.refusal(node, f"blocks of {list(blocks)} over an input of shape {list(shape)}")
    return blocks


def _stored(low: Lowering, node: Node, ideal: Value, dtype: DType) -> tuple[Value, Value]:
    """The scale as it is stored, and its value."""
    o = low.ops
    if dtype is DType.F32:
        return ideal, ideal
    if dtype is DType.F8_E8M0:
        power = _power_above(low, ideal)
        return o.convert(power, ElementType.F8E8M0), power
    if dtype is not DType.F8_E4M3:
        raise low.refusal(node, f"scales of type {dtype}")
    second = low.widened(node.required(1)) if node.input(1) is not None else o.f32(1.0)
    code = low.narrowed(o.divide(ideal, second), dtype)
    return code, o.multiply(o.convert(code, ElementType.F32), second)


def _power_above(low: Lowering, x: Value) -> Value:
    """The least power of two that is not below x: the conversion gives a neighbour, exact comparisons correct it."""
    o = low.ops
    x = o.binary("Maximum", x, o.f32(_LEAST_POWER))
    near = o.convert(o.convert(x, ElementType.F8E8M0), ElementType.F32)
    near = o.select(o.compare("Less", near, x), o.multiply(near, o.f32(2.0)), near)
    half = o.multiply(near, o.f32(0.5))
    return o.select(o.compare("GreaterEqual", half, x), half, near)


RULES: dict[str, Rule] = {"DYNAMIC_QUANTIZE": dynamic_quantize}
