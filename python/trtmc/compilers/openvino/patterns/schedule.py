"""The order in which a fused decoder's operations are written: Linears that read the same rows come in a row.

The executor runs such a group as one matrix product, but only if nothing stands between them.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node
from trtmc.compilers.openvino.patterns.linear import KIND


def grouped(graph: Graph) -> list[Node]:
    """`Graph.ordered`, with each Linear followed at once by its siblings that are ready."""
    waiting = graph.ordered()
    done: set[Node] = set()
    result: list[Node] = []

    def ready(node: Node) -> bool:
        return all(t is None or t.producer is None or t.producer in done for t in node.inputs)

    def put(node: Node) -> None:
        done.add(node)
        result.append(node)

    for node in waiting:  # constants first: they have no order of their own and must not split a group
        if node.kind == "CONSTANT":
            put(node)
    for node in waiting:
        if node in done:
            continue
        put(node)
        if node.kind == KIND:
            for user, index in list(node.required(0).users):
                if index == 0 and user.kind == KIND and user not in done and ready(user):
                    put(user)
    return result
