"""Add: a sum of two activations of one shape that no Linear took as its residual."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph
from trtmc.core.dtype import COMPUTE_DTYPES

KIND = "trtmc.Add"


def fuse_add(graph: Graph) -> int:
    """Only float sums without broadcasting."""
    matched = 0
    for node in graph.ordered():
        if node.kind != "ELEMENTWISE" or node.attributes["op"] != "SUM" or node.output.dtype not in COMPUTE_DTYPES:
            continue
        a, b = node.required(0), node.required(1)
        if a.shape != b.shape or a.constant is not None or b.constant is not None:
            continue
        graph.replace(node.output, graph.new(KIND, node.name, [a, b], node.output.dtype, a.shape))
        matched += 1
    graph.prune()
    return matched
