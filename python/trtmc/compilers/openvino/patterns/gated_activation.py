"""GatedActivation: activation(gate) * up.

Some activations are one layer. The others are products: silu is gate * sigmoid(gate), quick_gelu is
gate * sigmoid(1.702 gate), mish is gate * tanh(softplus(gate)).
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns.matching import made_by, split_scalar

KIND = "trtmc.GatedActivation"
_ACTIVATIONS = {"GELU_TANH": "gelu_tanh", "GELU_ERF": "gelu", "RELU": "relu"}
_STEEP, _BF16_STEP = 1.702, 2.0**-8  # the network's own constant is rounded to its type; the operation's is not


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
    return _self_gated(product) if product is not None else None


def _self_gated(product: Node) -> tuple[Tensor, str] | None:
    """x * f(x)."""
    a, b = product.required(0), product.required(1)
    for x, other in ((a, b), (b, a)):
        gate = made_by(other, "ACTIVATION")
        if gate is None:
            continue
        inner = gate.required(0)
        if gate.attributes["type"] == "SIGMOID" and inner is x:
            return x, "silu"
        if gate.attributes["type"] == "SIGMOID" and _is_steep(inner, x):
            return x, "quick_gelu"
        if gate.attributes["type"] == "TANH" and _is_softplus(inner, x):
            return x, "mish"
    return None


def _is_steep(tensor: Tensor, x: Tensor) -> bool:
    node = made_by(tensor, "ELEMENTWISE", op="PROD")
    parts = split_scalar(node) if node is not None else None
    return parts is not None and parts[0] is x and abs(parts[1] / _STEEP - 1) < _BF16_STEP


def _is_softplus(tensor: Tensor, x: Tensor) -> bool:
    node = made_by(tensor, "ACTIVATION", type="SOFTPLUS", alpha=1.0, beta=1.0)
    return node is not None and node.required(0) is x
