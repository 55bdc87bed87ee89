"""GatedActivation: activation(gate) * up, with silu written as gate * sigmoid(gate)."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns.matching import made_by

KIND = "trtmc.GatedActivation"
_ACTIVATIONS = {"GELU_TANH": "gelu_tanh", "GELU_ERF": "gelu", "RELU": "relu"}


def fuse_gated_activation(graph: Graph) -> int:
    """Looks at each product for an activated factor."""
    matched = 0
    for node in graph.ordered():
        if node.kind != "ELEMENTWISE" or node.attributes["op"] != "PROD":
            continue
        for activated, up in ((node.required(0), node.required(1)), (node.required(1), node.required(0))):
            found = _activation(activated)
            if found is None or activated.sole_user is not node or up.shape != activated.shape or up is found[0]:
                continue
            gate, name = found
            fused = graph.new(KIND, node.name, [gate, up], node.output.dtype, node.output.shape, {"activation": name})
            graph.replace(node.output, fused)
            matched += 1
            break
    graph.prune()
    return matched


def _activation(tensor: Tensor) -> tuple[Tensor, str] | None:
    """The gate and the activation's name."""
    node = made_by(tensor, "ACTIVATION")
    if node is not None and node.attributes["type"] in _ACTIVATIONS:
        return node.required(0), _ACTIVATIONS[node.attributes["type"]]
    product = made_by(tensor, "ELEMENTWISE", op="PROD")
    return _silu(product) if product is not None else None


def _silu(product: Node) -> tuple[Tensor, str] | None:
    a, b = product.required(0), product.required(1)
    for x, other in ((a, b), (b, a)):
        sigmoid = made_by(other, "ACTIVATION", type="SIGMOID")
        if sigmoid is not None and sigmoid.required(0) is x:
            return x, "silu"
    return None
