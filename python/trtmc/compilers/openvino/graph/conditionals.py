"""A TensorRT conditional as one node "region.If".

- inputs: the condition, then captured tensors;
- attributes: `then` and `else`, the branches' graphs, and `then_inputs` and `else_inputs`: which of the captures each
  branch's inputs are;
- a node belongs to a branch if only that branch needs it. What both need, or others too, is computed before.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.graph.outlining import Outlined
from trtmc.core.errors import BadInput

_BRANCHES = ("then", "else")  # in the order of a CONDITIONAL_OUTPUT's inputs
_ELSEWHERE = ("ITERATOR", "LOOP_OUTPUT", "RECURRENCE", "TRIP_LIMIT", "CONDITION", "CONDITIONAL_OUTPUT")


def outline_conditional(graph: Graph, border: list[Node]) -> None:
    """Replaces a conditional by a node."""
    results = [node for node in border if node.kind == "CONDITIONAL_OUTPUT"]
    conditions = [node for node in border if node.kind == "CONDITION"]
    if not conditions or not results:
        raise BadInput(
            "network.conditional", f"the conditional of layer '{border[0].name}' lacks a condition or outputs"
        )
    for node in border:
        if node.kind == "CONDITIONAL_INPUT":
            graph.replace(node.output, node.required(0))
    condition = conditions[0].required(0)
    captures: list[Tensor] = []
    attributes: dict[str, object] = {}
    members = [_branch(graph, results, slot) for slot in range(len(_BRANCHES))]  # both, before anything moves
    for slot, branch in enumerate(_BRANCHES):
        out = Outlined()
        out.move(graph, members[slot])
        out.body.outputs = [out.inside(node.required(slot)) for node in results]
        out.body.inputs = out.parameters
        for tensor in out.captures:
            if not any(tensor is known for known in captures):
                captures.append(tensor)
        attributes[branch] = out.body
        attributes[f"{branch}_inputs"] = tuple(_position(captures, tensor) for tensor in out.captures)
    for node in border:
        graph.remove(node)
    outputs = [node.output for node in results]
    graph.add(Node("region.If", border[0].name, [condition, *captures], outputs, attributes))


def _position(captures: list[Tensor], tensor: Tensor) -> int:
    return next(i for i, known in enumerate(captures) if known is tensor)


def _branch(graph: Graph, results: list[Node], slot: int) -> list[Node]:
    """The nodes whose results reach nothing but input `slot` of the conditional's outputs."""
    ends = set(results)
    found: set[Node] = set()

    def only_here(node: Node) -> bool:
        if node.kind in _ELSEWHERE or node.constant is not None or any(graph.is_output(t) for t in node.outputs):
            return False
        users = [use for t in node.outputs for use in t.users]
        return all(user in found or (user in ends and index == slot) for user, index in users)

    todo = [node.required(slot).producer for node in results]
    while todo:
        node = todo.pop()
        if node is None or node in found or not only_here(node):
            continue
        found.add(node)
        todo += [t.producer for t in node.inputs if t is not None]
    return [node for node in graph if node in found]
