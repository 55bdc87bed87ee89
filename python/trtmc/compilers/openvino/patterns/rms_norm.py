"""RmsNorm: x / sqrt(mean(x*x) + epsilon) * weight, however the division is written."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns.matching import made_by, scalar, split_scalar, split_vector

KIND = "trtmc.RmsNorm"


def fuse_rms_norm(graph: Graph) -> int:
    """Starts at each mean over the last axis and looks down to the product with the weight."""
    matched = 0
    for node in graph.ordered():
        found = _match(node)
        if found is not None:
            x, weight, epsilon, last = found
            fused = graph.new(KIND, last.name, [x, weight], last.output.dtype, x.shape, {"epsilon": epsilon})
            graph.replace(last.output, fused)
            matched += 1
    graph.prune()
    return matched


def _match(mean: Node) -> tuple[Tensor, Tensor, float, Node] | None:
    if mean.kind != "REDUCE" or mean.attributes["op"] != "AVG" or not mean.attributes["keep_dims"]:
        return None
    x = _squared(mean.required(0))
    if x is None or mean.attributes["axes"] != (x.rank - 1,):
        return None
    shifted = _only(mean.output, "SUM")
    parts = split_scalar(shifted) if shifted is not None else None
    if shifted is None or parts is None:
        return None
    normalized = _normalized(shifted.output, x)
    last = _only(normalized, "PROD") if normalized is not None else None
    weight = split_vector(last, x.shape[-1]) if last is not None else None
    if last is None or weight is None:
        return None
    return x, weight[1], parts[1], last


def _squared(tensor: Tensor) -> Tensor | None:
    """x of x*x or of x to the power of two."""
    product = made_by(tensor, "ELEMENTWISE", op="PROD")
    if product is not None and product.required(0) is product.required(1):
        return product.required(0)
    power = made_by(tensor, "ELEMENTWISE", op="POW")
    return power.required(0) if power is not None and scalar(power.input(1)) == 2.0 else None


def _only(tensor: Tensor, op: str) -> Node | None:
    user = tensor.sole_user
    return user if user is not None and user.kind == "ELEMENTWISE" and user.attributes["op"] == op else None


def _normalized(shifted: Tensor, x: Tensor) -> Tensor | None:
    """x over the root of `shifted`: x / sqrt, x * recip(sqrt), x * (1 / sqrt) or x * shifted^-0.5."""
    user = shifted.sole_user
    if user is None:
        return None
    if user.kind == "ELEMENTWISE" and user.attributes["op"] == "POW" and scalar(user.input(1)) == -0.5:
        return _product(user.output, x)
    if user.kind != "UNARY" or user.attributes["op"] != "SQRT":
        return None
    root, after = user.output, user.output.sole_user
    if after is None:
        return None
    if after.kind == "UNARY" and after.attributes["op"] == "RECIP":
        return _product(after.output, x)
    if after.kind == "ELEMENTWISE" and after.attributes["op"] == "DIV" and after.input(1) is root:
        if after.input(0) is x:
            return after.output
        return _product(after.output, x) if scalar(after.input(0)) == 1.0 else None
    return None


def _product(factor: Tensor, x: Tensor) -> Tensor | None:
    user = _only(factor, "PROD")
    return user.output if user is not None and any(t is x for t in user.inputs) else None
