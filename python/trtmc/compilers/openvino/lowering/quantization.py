"""Quantize and dequantize layers: int8, uint8, int4, fp8 and fp4; per tensor, per axis or per block; zero points.

Scales may be float, or powers of two in one byte (e8m0).
"""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import NARROW_FLOATS, Lowering, Rule, operand_type
from trtmc.core.dtype import DType

_RANGES = {DType.I8: (-128.0, 127.0), DType.U8: (0.0, 255.0), DType.I4: (-8.0, 7.0)}


def dequantize(low: Lowering, node: Node) -> None:
    """(float(x) - zero point) * scale; constants stay packed in the file and in memory."""
    source, scale, zero = node.required(0), node.required(1), node.input(2)
    if source.dtype not in _RANGES and source.dtype not in NARROW_FLOATS:
        raise low.refusal(node, f"an input of type {source.dtype}")
    _check_zero(low, node, zero, source.dtype)
    o, spread = low.ops, _Spread.of(low, node, source, scale)
    x = spread.split(low, low.widened(source))
    if zero is not None:
        x = o.subtract(x, spread.placed(low, low.widened(zero)))
    low.put(node.output, spread.joined(low, o.multiply(x, spread.placed(low, low.widened(scale)))))


def quantize(low: Lowering, node: Node) -> None:
    """x / scale rounded to the nearest, halves to even, plus the zero point, then clamped."""
    source, scale, zero, target = node.required(0), node.required(1), node.input(2), node.output.dtype
    if target not in _RANGES and target not in NARROW_FLOATS:
        raise low.refusal(node, f"an output of type {target}")
    _check_zero(low, node, zero, target)
    o, spread = low.ops, _Spread.of(low, node, source, scale)
    y = o.divide(spread.split(low, low.value(source)), spread.placed(low, low.widened(scale)))
    if target in NARROW_FLOATS:
        low.put(node.output, spread.joined(low, low.narrowed(y, target)))
        return
    lowest, highest = _RANGES[target]
    y = o.unary("Round", y, "opset5", mode="half_to_even")
    if zero is not None:
        y = o.add(y, spread.placed(low, low.widened(zero)))
    y = o.binary("Minimum", o.binary("Maximum", y, o.f32(lowest)), o.f32(highest))
    low.put(node.output, spread.joined(low, o.convert(y, operand_type(target))))


def rounded_to(low: Lowering, node: Node, x: Value, scale: Value, dtype: DType) -> Value:
    """Quantized by one scale and back at once, as layers do that quantize inside."""
    o = low.ops
    y = o.divide(x, scale)
    if dtype in NARROW_FLOATS:
        y = low.ops.convert(low.narrowed(y, dtype), ElementType.F32)
    elif dtype in _RANGES:
        lowest, highest = _RANGES[dtype]
        y = o.unary("Round", y, "opset5", mode="half_to_even")
        y = o.binary("Minimum", o.binary("Maximum", y, o.f32(lowest)), o.f32(highest))
    else:
        raise low.refusal(node, f"a quantization to {dtype}")
    return o.multiply(y, scale)


def _check_zero(low: Lowering, node: Node, zero: Tensor | None, dtype: DType) -> None:
    if zero is not None and zero.dtype is not dtype:
        raise low.refusal(node, f"a zero point of type {zero.dtype} for {dtype}")


@dataclass(frozen=True)
class _Spread:
    """How scales meet the elements they belong to: `coefficients` is their broadcast shape; blocks split dimensions."""

    shape: tuple[int, ...]
    coefficients: tuple[int, ...]
    blocks: tuple[int, ...] | None = None

    @classmethod
    def of(cls, low: Lowering, node: Node, source: Tensor, scale: Tensor) -> _Spread:
        """From the shapes of the input and of its scale."""
        if scale.rank == 0 or (scale.rank == 1 and scale.shape[0] == 1):
            return cls(source.shape, ())
        if scale.rank == 1 and source.rank != 1:
            axis = node.attributes["axis"] % source.rank
            return cls(source.shape, tuple(-1 if i == axis else 1 for i in range(source.rank)))
        if scale.rank != source.rank or min(source.shape) < 0 or min(scale.shape) < 0:
            raise low.refusal(node, f"a scale of shape {list(scale.shape)} for an input of shape {list(source.shape)}")
        inner: list[int] = []
        spread: list[int] = []
        for size, count in zip(source.shape, scale.shape, strict=True):
            if size % count:
                raise low.refusal(node, f"{count} blocks over {size} elements")
            inner += [count, size // count]
            spread += [count, 1]
        return cls(source.shape, tuple(spread), tuple(inner))

    def split(self, low: Lowering, x: Value) -> Value:
        """The input with each blocked dimension as two."""
        return x if self.blocks is None else low.ops.reshape(x, low.dims_value(self.blocks))

    def placed(self, low: Lowering, coefficients: Value) -> Value:
        """Scales or zero points, shaped to broadcast."""
        return low.ops.reshape(coefficients, low.dims_value(self.coefficients))

    def joined(self, low: Lowering, y: Value) -> Value:
        """The result in the input's shape."""
        return y if self.blocks is None else low.ops.reshape(y, low.dims_value(self.shape))


RULES: dict[str, Rule] = {"DEQUANTIZE": dequantize, "QUANTIZE": quantize}
