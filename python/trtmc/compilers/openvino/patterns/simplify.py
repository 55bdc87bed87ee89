"""What every walk does first: take out layers that change nothing when activations are float32.

Float-to-float casts and identities go; a reshape of a constant becomes a constant of the new shape (same bytes).
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node
from trtmc.compilers.openvino.patterns.matching import reshaped_only
from trtmc.core.dtype import COMPUTE_DTYPES


def simplify(graph: Graph) -> int:
    """Returns the number of layers that went."""
    changed = 0
    for node in graph.ordered():
        if _passes_through(node):
            graph.replace(node.output, node.required(0))
            changed += 1
        elif _is_constant_reshape(node):
            data = node.required(0).constant
            if data is not None:
                graph.replace(node.output, graph.constant(node.name, data.reshape(node.output.shape)))
                changed += 1
    return changed + graph.prune()


def _passes_through(node: Node) -> bool:
    if node.kind not in ("CAST", "IDENTITY"):
        return False
    source, target = node.required(0).dtype, node.output.dtype
    return source is target or (source in COMPUTE_DTYPES and target in COMPUTE_DTYPES)


def _is_constant_reshape(node: Node) -> bool:
    if node.kind in ("SQUEEZE", "UNSQUEEZE"):
        return node.required(0).constant is not None and min(node.output.shape, default=0) >= 0
    if node.kind != "SHUFFLE" or node.required(0).constant is None:
        return False
    return reshaped_only(node) and min(node.output.shape, default=0) >= 0
