"""Linear: x W^T with a constant W of rows as in the checkpoint, its bias, and a residual added behind it."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns.matching import made_by, split_vector
from trtmc.core.dtype import COMPUTE_DTYPES

KIND = "trtmc.Linear"


def fuse_linear(graph: Graph) -> int:
    """Matrix multiplications by a transposed constant matrix."""
    matched = 0
    for node in graph.ordered():
        weight = _weight(node)
        if weight is not None:
            x = node.required(0)
            fused = graph.new(KIND, node.name, [x, weight, None, None], node.output.dtype, node.output.shape)
            graph.replace(node.output, fused)
            matched += 1
    graph.prune()
    return matched


def _weight(node: Node) -> Tensor | None:
    if node.kind != "MATRIX_MULTIPLY" or (node.attributes["op0"], node.attributes["op1"]) != ("NONE", "TRANSPOSE"):
        return None
    weight = node.required(1)
    data = weight.constant
    if data is None or data.dtype not in COMPUTE_DTYPES or len(data.shape) < 2 or set(data.shape[:-2]) - {1}:
        return None
    return weight


def fuse_bias(graph: Graph) -> int:
    """A constant vector added to a Linear becomes its bias."""
    matched = 0
    for node in graph.ordered():
        if node.kind != "ELEMENTWISE" or node.attributes["op"] != "SUM":
            continue
        parts = split_vector(node, node.output.shape[-1]) if node.output.rank else None
        linear = made_by(parts[0], KIND) if parts is not None else None
        if parts is None or linear is None or parts[0].sole_user is not node or linear.input(2) or linear.input(3):
            continue
        x, weight = linear.required(0), linear.required(1)
        fused = graph.new(KIND, linear.name, [x, weight, parts[1], None], node.output.dtype, linear.output.shape)
        graph.replace(node.output, fused)
        matched += 1
    graph.prune()
    return matched


def fuse_residual(graph: Graph) -> int:
    """An activation added to a Linear that nobody else reads becomes its residual."""
    matched = 0
    for node in graph.ordered():
        if node.kind != "ELEMENTWISE" or node.attributes["op"] != "SUM":
            continue
        for output, other in ((node.required(1), node.required(0)), (node.required(0), node.required(1))):
            linear = made_by(output, KIND)
            if linear is None or linear.input(3) or output.sole_user is not node or other.constant is not None:
                continue
            if other.shape != output.shape or graph.is_output(output):
                continue
            inputs = [linear.required(0), linear.required(1), linear.input(2), other]
            fused = graph.new(KIND, linear.name, inputs, node.output.dtype, output.shape)
            graph.replace(node.output, fused)
            matched += 1
            break
    graph.prune()
    return matched
