"""Loops and conditionals: TensorRT marks their borders by layers; here each becomes one node with graphs inside.

`outline` replaces the boundary layers of a finished network by nodes "region.Loop" and "region.If", innermost first.
What lies inside follows from what depends on what. Knows the meaning of the boundary layers alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from trtmc.compilers.openvino.graph.conditionals import outline_conditional
from trtmc.compilers.openvino.graph.graph import Graph, Node
from trtmc.compilers.openvino.graph.loops import loop_members, outline_loop

LOOP_KINDS = ("ITERATOR", "LOOP_OUTPUT", "RECURRENCE", "TRIP_LIMIT")
CONDITIONAL_KINDS = ("CONDITION", "CONDITIONAL_INPUT", "CONDITIONAL_OUTPUT")
BOUNDARY_KINDS = frozenset(LOOP_KINDS + CONDITIONAL_KINDS)


@dataclass
class _Construct:
    """The boundary layers of one loop or conditional."""

    is_loop: bool
    border: list[Node] = field(default_factory=list)


def outline(graph: Graph) -> int:
    """Returns how many loops and conditionals there were."""
    constructs: dict[object, _Construct] = {}
    for node in graph:
        if node.kind in BOUNDARY_KINDS:
            is_loop = node.kind in LOOP_KINDS
            key = (is_loop, node.attributes["region"])
            constructs.setdefault(key, _Construct(is_loop)).border.append(node)
    todo = list(constructs.values())
    while todo:
        construct = _innermost(todo, graph)
        todo.remove(construct)
        if construct.is_loop:
            outline_loop(graph, construct.border)
        else:
            outline_conditional(graph, construct.border)
    return len(constructs)


def _innermost(todo: list[_Construct], graph: Graph) -> _Construct:
    """A loop without a border of another construct inside, else the conditional whose outputs come first."""
    for construct in todo:
        if construct.is_loop:
            own = set(construct.border)
            inside = loop_members(construct.border)
            if not any(node.kind in BOUNDARY_KINDS and node not in own for node in inside):
                return construct
    conditionals = [construct for construct in todo if not construct.is_loop]
    if not conditionals:
        return todo[0]  # loops that contain each other: the order decides nothing that a valid network could have
    return min(conditionals, key=lambda c: _depth(c.border))


def _depth(border: list[Node]) -> int:
    """How many nodes lead to a conditional's outputs: an inner one has fewer than the one around it."""
    seen: set[Node] = set()
    todo = [node for node in border if node.kind == "CONDITIONAL_OUTPUT"]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        todo += [t.producer for t in node.inputs if t is not None and t.producer is not None]
    return len(seen)
