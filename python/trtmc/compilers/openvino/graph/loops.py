"""A TensorRT loop as one node "region.Loop".

- inputs: trip count, initial condition (each may be absent), initial values of the recurrences, captured tensors,
  lengths of the concatenations;
- attributes: `body`, `recurrences`, `captures` (how many of each) and `outputs`, one `LoopOutput` per result;
- the body's inputs: iteration number, recurrences, captures; its outputs: the next condition (if there is one), next
  values of the recurrences, then what each concatenation adds.

The condition of a WHILE limit is tested before an iteration. Since it depends on recurrences alone, it is computed once
from the initial values and then, at the end of each iteration, from the next values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.graph.outlining import Outlined, cloned
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput


class Collect(Enum):
    """TensorRT's kinds of loop outputs."""

    LAST_VALUE = "LAST_VALUE"
    CONCATENATE = "CONCATENATE"
    REVERSE = "REVERSE"


@dataclass(frozen=True)
class LoopOutput:
    """`index` counts recurrences for a last value, else the body's concatenated outputs."""

    collect: Collect
    index: int
    axis: int = 0
    length: int = -1  # the node's input that holds the number of rows


def loop_members(border: list[Node]) -> list[Node]:
    """Everything that depends on the loop's iterators and recurrences, up to its outputs; the border included."""
    found = dict.fromkeys(border)
    todo = [node for node in border if node.kind in ("ITERATOR", "RECURRENCE")]
    while todo:
        node = todo.pop()
        for output in node.outputs:
            for user, _ in output.users:
                if user not in found:
                    found[user] = None
                    todo.append(user)
    return list(found)


def outline_loop(graph: Graph, border: list[Node]) -> None:
    """Replaces a loop by a node."""
    kinds: dict[str, list[Node]] = {}
    for node in border:
        kinds.setdefault(node.kind, []).append(node)
    recurrences, results = kinds.get("RECURRENCE", []), kinds.get("LOOP_OUTPUT", [])
    limits = {node.attributes["kind"]: node for node in kinds.get("TRIP_LIMIT", [])}
    name = border[0].name
    if not limits:
        raise BadInput("network.loop", f"the loop of layer '{name}' has no trip limit")
    for node in recurrences:
        node.required(1)
    inner = [node for node in loop_members(border) if node not in set(border)]
    count = limits["COUNT"].required(0) if "COUNT" in limits else None
    start = _start_condition(graph, limits.get("WHILE"), recurrences, inner)

    out = Outlined()
    iteration = Tensor("iteration", DType.I64, ())
    states = [out.parameter(node.output) for node in recurrences]
    for node, state in zip(recurrences, states, strict=True):
        out.bind(node.output, state)
    _iterators(out, kinds.get("ITERATOR", []), iteration, count)
    out.move(graph, inner)
    nexts = [out.inside(node.required(1)) for node in recurrences]
    outputs = [] if "WHILE" not in limits else [_next_condition(out, limits["WHILE"], recurrences, nexts, set(inner))]
    outputs += nexts

    collected: list[LoopOutput] = []
    lengths: list[Tensor] = []
    for node in results:
        collect = Collect(node.attributes["kind"])
        if collect is Collect.LAST_VALUE:
            collected.append(LoopOutput(collect, _recurrence_of(node, recurrences)))
            continue
        collected.append(LoopOutput(collect, len(lengths), node.attributes["axis"]))
        outputs.append(out.inside(node.required(0)))
        lengths.append(node.required(1))
    out.body.inputs = [iteration, *states, *out.parameters]
    out.body.outputs = outputs
    out.body.prune()

    initial = [node.required(0) for node in recurrences]
    inputs = [count, start, *initial, *out.captures, *lengths]
    first = 2 + len(initial) + len(out.captures)
    collected = [
        c if c.collect is Collect.LAST_VALUE else LoopOutput(c.collect, c.index, c.axis, first + c.index)
        for c in collected
    ]
    for node in border:
        graph.remove(node)
    attributes = {
        "body": out.body,
        "recurrences": len(initial),
        "captures": len(out.captures),
        "outputs": tuple(collected),
    }
    graph.add(Node("region.Loop", name, inputs, [node.output for node in results], attributes))


def _recurrence_of(result: Node, recurrences: list[Node]) -> int:
    for index, node in enumerate(recurrences):
        if result.required(0) is node.output:
            return index
    raise BadInput("network.loop", f"layer '{result.name}' (LOOP_OUTPUT): a last value must come from a recurrence")


def _start_condition(graph: Graph, limit: Node | None, recurrences: list[Node], inner: list[Node]) -> Tensor | None:
    if limit is None:
        return None
    stops = {id(node.output): node.required(0) for node in recurrences}
    return cloned(graph, limit.required(0), stops, set(inner), " (before the loop)")


def _next_condition(
    out: Outlined, limit: Node, recurrences: list[Node], nexts: list[Tensor], inner: set[Node]
) -> Tensor:
    stops = {id(out.inside(node.output)): value for node, value in zip(recurrences, nexts, strict=True)}
    return cloned(out.body, out.inside(limit.required(0)), stops, inner, " (next)")


def _iterators(out: Outlined, iterators: list[Node], iteration: Tensor, count: Tensor | None) -> None:
    """An iterator is a gather by the iteration's number, or by count - 1 - number."""
    for node in iterators:
        index = iteration
        if node.attributes["reverse"]:
            if count is None:
                raise BadInput("network.loop", f"layer '{node.name}' (ITERATOR): a reverse iterator needs a trip count")
            total = out.body.new("CAST", f"{node.name}/count", [out.inside(count)], DType.I64, ())
            last = out.body.new("ELEMENTWISE", f"{node.name}/last", [total, _one(out)], DType.I64, (), {"op": "SUB"})
            index = out.body.new("ELEMENTWISE", f"{node.name}/at", [last, iteration], DType.I64, (), {"op": "SUB"})
        attributes = {"axis": node.attributes["axis"], "mode": "DEFAULT", "num_elementwise_dims": 0}
        inputs = [out.inside(node.required(0)), index]
        picked = out.body.new("GATHER", node.name, inputs, node.output.dtype, node.output.shape, attributes)
        out.bind(node.output, picked)


def _one(out: Outlined) -> Tensor:
    return out.body.constant("one", ConstantData.of(np.array(1, np.int64)))
