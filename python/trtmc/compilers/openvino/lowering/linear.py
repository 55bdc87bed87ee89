"""Matrix multiplication and einsum."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule


def matrix_multiply(low: Lowering, node: Node) -> None:
    """Batch dimensions broadcast; VECTOR operands are one rank lower and lose that dimension in the result."""
    o = low.ops
    (a, transpose_a), (b, transpose_b) = (
        (_operand(low, node.required(i), node.attributes[f"op{i}"]), node.attributes[f"op{i}"]) for i in (0, 1)
    )
    if transpose_a == "VECTOR":
        a = o.unsqueeze(a, o.i64(-2))
    if transpose_b == "VECTOR":
        b = o.unsqueeze(b, o.i64(-1))
    y = o.matmul(a, b, transpose_a == "TRANSPOSE", transpose_b == "TRANSPOSE")
    drop = [axis for axis, op in ((-2, transpose_a), (-1, transpose_b)) if op == "VECTOR"]
    low.put(node.output, o.squeeze(y, o.i64(*drop)) if drop else y)


def _operand(low: Lowering, tensor: Tensor, op: str) -> Value:
    """Leading ones of a constant matrix are dropped: the plugin's fully-connected kernel wants two dimensions."""
    data = tensor.constant
    if data is not None and op != "VECTOR" and len(data.shape) > 2 and set(data.shape[:-2]) == {1}:
        return low.literal(data.reshape(data.shape[-2:]))
    return low.value(tensor)


def einsum(low: Lowering, node: Node) -> None:
    """The equation is the same text in both libraries."""
    low.put(node.output, low.ops.einsum(low.args(node), node.attributes["equation"].replace(" ", "")))


RULES: dict[str, Rule] = {"MATRIX_MULTIPLY": matrix_multiply, "EINSUM": einsum}
