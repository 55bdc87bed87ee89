"""Layers that address elements by index tensors: gather, scatter, one-hot, non-zero, reversed sequences."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import ElementType
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type


def gather(low: Lowering, node: Node) -> None:
    """DEFAULT picks slices along an axis, ELEMENT single elements, ND by coordinate tuples."""
    x, indices = low.value(node.required(0)), low.value(node.required(1))
    mode, axis, batch = node.attributes["mode"], node.attributes["axis"], node.attributes["num_elementwise_dims"]
    if mode == "DEFAULT":
        y = low.ops.gather(x, indices, axis, batch)
    elif mode == "ELEMENT":
        y = low.ops.gather_elements(x, indices, axis)
    elif mode == "ND":
        y = low.ops.gather_nd(x, indices, batch)
    else:
        raise low.refusal(node, f"gather mode {mode}")
    low.put(node.output, y)


def scatter(low: Lowering, node: Node) -> None:
    """ELEMENT writes single elements along an axis, ND slices by coordinate tuples."""
    x, indices, updates = (low.value(node.required(i)) for i in range(3))
    if node.attributes["mode"] == "ELEMENT":
        y = low.ops.scatter_elements(x, indices, updates, node.attributes["axis"])
    else:
        y = low.ops.scatter_nd(x, indices, updates)
    low.put(node.output, y)


def one_hot(low: Lowering, node: Node) -> None:
    """Indices, [off, on] values, depth; written as a comparison with a range along the new axis."""
    indices, values, depth = (low.value(node.required(i)) for i in range(3))
    o, rank = low.ops, node.required(0).rank
    axis = node.attributes["axis"] % (rank + 1)
    indices = o.convert(indices, ElementType.I64)
    depth = o.reshape(o.convert(depth, ElementType.I64), low.dims_value(()))
    columns = o.range(o.index(0), depth, o.index(1))
    spread = [d for d in range(rank + 1) if d != axis]
    columns = o.unsqueeze(columns, o.i64(*spread)) if spread else columns
    wrapped = o.select(o.compare("Less", indices, o.index(0)), o.add(indices, depth), indices)
    hit = o.compare("Equal", o.unsqueeze(wrapped, o.i64(axis)), columns)
    off, on = (o.gather(values, o.index(i), 0) for i in (0, 1))
    low.put(node.output, o.select(hit, on, off))


def non_zero(low: Lowering, node: Node) -> None:
    """Coordinates of non-zero elements, one row per dimension."""
    x = low.value(node.required(0))
    type = operand_type(node.output.dtype)
    low.put(node.output, low.model.add("NonZero", [x], [type], {"output_type": type}, "opset3").value())


def reverse_sequence(low: Lowering, node: Node) -> None:
    """The first lengths[b] elements of each sequence in reverse, the rest as they are."""
    x, lengths = low.args(node)
    attributes = {"batch_axis": node.attributes["batch_axis"], "seq_axis": node.attributes["sequence_axis"]}
    low.put(node.output, low.model.add("ReverseSequence", [x, lengths], [x.type], attributes).value())


RULES: dict[str, Rule] = {
    "GATHER": gather,
    "SCATTER": scatter,
    "ONE_HOT": one_hot,
    "NON_ZERO": non_zero,
    "REVERSE_SEQUENCE": reverse_sequence,
}
