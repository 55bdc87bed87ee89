"""Loops and conditionals: OpenVINO's Loop and If over the bodies that `graph/regions.py` cut out.

A loop's trip count never runs negative; a concatenation has as many rows as TensorRT's layer says, zeros where the loop
ended before.
"""

from __future__ import annotations

import numpy as np

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.graph.loops import Collect, LoopOutput
from trtmc.compilers.openvino.ir.model import Body, ElementType, Layer, PortLink, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type

_ENDLESS = -1


def loop(low: Lowering, node: Node) -> None:
    """Ports: trip count, condition, recurrences, captures, then the counter of finished iterations."""
    o, a = low.ops, node.attributes
    body, recurrences, captures = a["body"], a["recurrences"], a["captures"]
    outputs: tuple[LoopOutput, ...] = a["outputs"]
    trips = _trip_count(low, node.input(0))
    start = low.value(node.required(1)) if node.input(1) is not None else _true(low)
    carried = [low.value(node.required(i)) for i in range(2, 2 + recurrences + captures)]

    inner = low.nested(node.name)
    parameters = [_parameter(inner, tensor) for tensor in body.inputs]
    counter = inner.model.parameter("finished iterations", ElementType.I64, ())
    inner.walk(inner, body)
    inner.model.scope = "results"
    values = [inner.value(tensor) for tensor in body.outputs]
    proceed = values.pop(0) if node.input(1) is not None else _true(inner)
    nexts, rows = values[:recurrences], values[recurrences:]
    axes = [output.axis for output in outputs if output.collect is not Collect.LAST_VALUE]
    rows = [inner.ops.unsqueeze(row, inner.ops.i64(axis)) for row, axis in zip(rows, axes, strict=True)]
    count = inner.ops.add(counter, inner.ops.index(1))
    results = [_result(inner, value) for value in (proceed, *nexts, *rows, count)]

    inputs = [trips if trips is not None else o.index(_ENDLESS), start, *carried, o.index(0)]
    types = [(nexts if output.collect is Collect.LAST_VALUE else rows)[output.index].type for output in outputs]
    layer = low.model.add("Loop", inputs, [*types, ElementType.I64], {}, "opset5")
    states, rows_from = results[1 : 1 + recurrences], results[1 + recurrences : -1]
    links_in = [PortLink(_ENDLESS, parameters[0].id, {"purpose": "current_iteration"})]
    links_in += [PortLink(2 + i, inside.id) for i, inside in enumerate((*parameters[1:], counter.layer))]
    links_out = [PortLink(_ENDLESS, results[0].id, {"purpose": "execution_condition"})]
    links_out += _output_links(outputs, len(inputs), states, rows_from, results[-1])
    back = [(r.id, p.id) for r, p in zip(states, parameters[1 : 1 + recurrences], strict=True)]
    back.append((results[-1].id, counter.layer.id))
    layer.bodies.append(Body("body", "port_map", inner.model, links_in, links_out, back))

    finished = layer.value(len(types))
    for index, (output, tensor) in enumerate(zip(outputs, node.outputs, strict=True)):
        value = layer.value(index)
        if output.collect is not Collect.LAST_VALUE:
            value = _exact_rows(low, node, value, output, tensor.rank, finished)
        low.put(tensor, value)


def _output_links(
    outputs: tuple[LoopOutput, ...], first: int, states: list[Layer], rows: list[Layer], count: Layer
) -> list[PortLink]:
    """One port per output, then the counter's; concatenations collect what every iteration gives."""
    links = []
    for port, output in enumerate(outputs, start=first):
        if output.collect is Collect.LAST_VALUE:
            links.append(PortLink(port, states[output.index].id))
        else:
            links.append(PortLink(port, rows[output.index].id, _collecting(output)))
    return [*links, PortLink(first + len(outputs), count.id)]


def _collecting(output: LoopOutput) -> dict[str, int | str]:
    forward = output.collect is Collect.CONCATENATE
    ends = (0, -1, 1) if forward else (-1, 0, -1)
    return {"axis": output.axis, "start": ends[0], "end": ends[1], "stride": ends[2], "part_size": 1}


def _exact_rows(low: Lowering, node: Node, value: Value, output: LoopOutput, rank: int, finished: Value) -> Value:
    """The first `finished` rows (a loop that never ran leaves some), then zeros up to the length that is asked for."""
    o = low.ops
    length_tensor = node.required(output.length)
    length = _scalar(low, length_tensor)
    axis = o.i64(output.axis)
    kept = o.reshape(o.binary("Minimum", finished, length), low.dims_value((1,)))
    value = o.slice(value, o.i64(0), kept, o.i64(1), axis)
    if length_tensor is node.input(0) and node.input(1) is None:
        return value
    missing = o.subtract(o.reshape(length, low.dims_value((1,))), kept)
    parts = [missing if i == output.axis else o.i64(0) for i in range(rank)]
    plain = value.type
    widened = o.convert(value, ElementType.I32) if plain is ElementType.BOOLEAN else value
    zero = o.convert(o.array(np.array(0, np.int32)), widened.type)
    inputs = [widened, o.i64(*[0] * rank), o.concat(parts, 0), zero]
    padded = low.model.add("Pad", inputs, [widened.type], {"pad_mode": "constant"}, "opset12").value()
    return o.convert(padded, plain)


def conditional(low: Lowering, node: Node) -> None:
    """Only the branch that the condition picks is computed."""
    condition, *captures = low.args(node)
    bodies = []
    types: list[ElementType] = []
    first_output = 1 + len(captures)
    for branch in ("then", "else"):
        graph: Graph = node.attributes[branch]
        inner = low.nested(f"{node.name}/{branch}")
        parameters = [_parameter(inner, tensor) for tensor in graph.inputs]
        inner.walk(inner, graph)
        inner.model.scope = "results"
        values = [inner.value(tensor) for tensor in graph.outputs]
        types = [value.type for value in values]
        results = [_result(inner, value) for value in values]
        used = node.attributes[f"{branch}_inputs"]
        links_in = [PortLink(1 + capture, layer.id) for capture, layer in zip(used, parameters, strict=True)]
        links_out = [PortLink(first_output + i, layer.id) for i, layer in enumerate(results)]
        bodies.append(Body(f"{branch}_body", f"{branch}_port_map", inner.model, links_in, links_out))
    layer = low.model.add("If", [condition, *captures], types, {}, "opset8")
    layer.bodies += bodies
    for index, tensor in enumerate(node.outputs):
        low.put(tensor, layer.value(index))


def _trip_count(low: Lowering, tensor: Tensor | None) -> Value | None:
    if tensor is None:
        return None
    return low.ops.binary("Maximum", _scalar(low, tensor), low.ops.index(0))


def _scalar(low: Lowering, tensor: Tensor) -> Value:
    return low.ops.reshape(low.ops.convert(low.value(tensor), ElementType.I64), low.dims_value(()))


def _true(low: Lowering) -> Value:
    return low.ops.array(np.array(True))


def _parameter(inner: Lowering, tensor: Tensor) -> Layer:
    value = inner.model.parameter(tensor.name, operand_type(tensor.dtype), tensor.shape)
    inner.put(tensor, value)
    return value.layer


def _result(inner: Lowering, value: Value) -> Layer:
    """A Parameter can't be a Result at once: what passes through gets an operation of its own."""
    if value.layer.type == "Parameter":
        value = inner.model.add("Convert", [value], [value.type], {"destination_type": value.type}).value()
    return inner.model.add("Result", [value], [])


RULES: dict[str, Rule] = {"region.Loop": loop, "region.If": conditional}
