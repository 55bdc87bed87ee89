"""Quantize and dequantize layers: int8 and int4, per tensor, per axis or per block.

8-bit and 4-bit floats are refused by name: they have no standard operation on the CPU yet.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type
from trtmc.core.dtype import DType

_RANGES = {DType.I8: (-128.0, 127.0), DType.I4: (-8.0, 7.0)}


def dequantize(low: Lowering, node: Node) -> None:
    """float(x) * scale; constants stay packed in the file and in memory."""
    source, scale = node.required(0), node.required(1)
    if source.dtype not in _RANGES:
        raise low.refusal(node, f"an input of type {source.dtype}")
    converted = low.ops.convert(low.value(source), ElementType.F32)
    low.put(node.output, _scaled(low, node, source, scale, converted, "Multiply"))


def quantize(low: Lowering, node: Node) -> None:
    """Rounded to the nearest, halves to even, then clamped."""
    source, scale, target = node.required(0), node.required(1), node.output.dtype
    if target is not DType.I8:
        raise low.refusal(node, f"an output of type {target}")
    o, (lowest, highest) = low.ops, _RANGES[target]
    y = _scaled(low, node, source, scale, low.value(source), "Divide")
    y = o.unary("Round", y, "opset5", mode="half_to_even")
    y = o.binary("Minimum", o.binary("Maximum", y, o.f32(lowest)), o.f32(highest))
    low.put(node.output, o.convert(y, operand_type(target)))


def _scaled(low: Lowering, node: Node, source: Tensor, scale: Tensor, x: Value, operation: str) -> Value:
    """x times or over the scale, spread over the axis or the blocks that it belongs to."""
    o, factor = low.ops, low.value(scale)
    if scale.rank == 0 or (scale.rank == 1 and scale.shape[0] == 1):
        return o.binary(operation, x, o.reshape(factor, low.dims_value(())))
    if scale.rank == 1 and source.rank != 1:
        axis = node.attributes["axis"] % source.rank
        return o.binary(
            operation, x, o.reshape(factor, low.dims_value([-1 if i == axis else 1 for i in range(source.rank)]))
        )
    if scale.rank != source.rank or min(source.shape) < 0 or min(scale.shape) < 0:
        raise low.refusal(node, f"a scale of shape {list(scale.shape)} for an input of shape {list(source.shape)}")
    inner: list[int] = []
    spread: list[int] = []
    for size, blocks in zip(source.shape, scale.shape, strict=True):
        if size % blocks:
            raise low.refusal(node, f"{blocks} blocks over {size} elements")
        inner += [blocks, size // blocks]
        spread += [blocks, 1]
    split = o.binary(operation, o.reshape(x, low.dims_value(inner)), o.reshape(factor, low.dims_value(spread)))
    return o.reshape(split, low.dims_value(source.shape))


RULES: dict[str, Rule] = {"DEQUANTIZE": dequantize, "QUANTIZE": quantize}
