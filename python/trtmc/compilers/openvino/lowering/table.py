"""The dispatch table, and the walk over a graph with it.

`RULES` and `REFUSED` together cover every kind of layer; a refused one fails with its layer's name.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.graph.regions import BOUNDARY_KINDS
from trtmc.compilers.openvino.ir.model import ElementType, Model, Value
from trtmc.compilers.openvino.lowering import (
    attention,
    dynamic_quantization,
    elementwise,
    experts,
    fills,
    four_bit,
    indexing,
    linear,
    nms,
    own,
    quantization,
    reductions,
    regions,
    shapes,
    spatial,
)
from trtmc.compilers.openvino.lowering.context import STORAGE_TYPES, Lowering, Rule
from trtmc.core.dtype import COMPUTE_DTYPES
from trtmc.core.errors import Unsupported


def _constant(low: Lowering, node: Node) -> None:
    """Emitted when somebody reads it, in the form that the reader wants."""


REFUSED = {
    "ASSERTION": "run-time assertions",
    "DIST_COLLECTIVE": "collectives of several devices",
    "PLUGIN": "plugins",
    "PLUGIN_V2": "plugins",
    "PLUGIN_V3": "plugins",
}
"""Kinds that this version knows and does not lower, with what they stand for."""

RULES: dict[str, Rule] = {
    "CONSTANT": _constant,
    **elementwise.RULES,
    **shapes.RULES,
    **indexing.RULES,
    **fills.RULES,
    **linear.RULES,
    **reductions.RULES,
    **attention.RULES,
    **spatial.RULES,
    **quantization.RULES,
    **dynamic_quantization.RULES,
    **experts.RULES,
    **own.RULES,
    **nms.RULES,
    **regions.RULES,
}

READ_OTHERWISE = frozenset({"ATTENTION_INPUT", *BOUNDARY_KINDS})
"""Kinds that mark a border: the attention's is read at its output, those of loops and conditionals are outlined."""


def check_layers(graph: Graph) -> None:
    """Refuses kinds and result types that can't be lowered; asked before anything else looks at the graph."""
    for name, dtype, tensor in zip(graph.output_names, graph.output_dtypes, graph.outputs, strict=True):
        if dtype.bits < 8 and min(tensor.shape, default=0) < 0:
            raise Unsupported("network.output_type", f"output '{name}' has type {dtype} and a dynamic shape")
    for node in graph:
        why = refusal_of(node)
        if why is not None:
            raise Lowering.refusal(node, why)


def refusal_of(node: Node) -> str | None:
    """Why a layer of this kind, or with results of these types, can't be lowered; None if it can.

    Rules refuse more, by attributes, when they run.
    """
    if node.kind in READ_OTHERWISE:
        return None
    if node.kind not in RULES:
        return REFUSED.get(node.kind, "a kind of layer that is not known")
    for tensor in () if node.kind == "CONSTANT" else node.outputs:
        if tensor.dtype not in STORAGE_TYPES:
            return f"a result of type {tensor.dtype}"
    return None


def lower(graph: Graph, state: dict[str, str], order: list[Node] | None = None) -> Model:
    """Emits every node, in the graph's own order if none is given.

    `state` maps cache inputs to the outputs that share their memory: those are float32.
    """
    check_layers(graph)
    model = Model()
    low = Lowering(model, _walk)
    for tensor in graph.inputs:
        if tensor.dtype not in STORAGE_TYPES:
            raise Unsupported(
                "network.input_type", f"input '{tensor.name}' has type {tensor.dtype}, which the CPU target lacks"
            )
        if tensor.dtype.bits < 8:
            low.put(tensor, _packed_input(low, tensor))
            continue
        is_state = tensor.name in state
        stored = ElementType.F32 if is_state else STORAGE_TYPES[tensor.dtype]
        value = model.parameter(tensor.name, stored, tensor.shape)
        low.put(tensor, low.ops.convert(value, ElementType.F32) if tensor.dtype in COMPUTE_DTYPES else value)
    _emit(low, order if order is not None else graph.ordered())
    model.scope = "outputs"
    shared = set(state.values())
    for name, tensor, dtype in zip(graph.output_names, graph.outputs, graph.output_dtypes, strict=True):
        value = low.value(tensor)
        if dtype.bits < 8:
            value = four_bit.pack(low, value, dtype, tensor.shape)
        if dtype in COMPUTE_DTYPES and name not in shared:
            value = low.ops.convert(value, STORAGE_TYPES[dtype])
        model.result(name, value)
    return model


def _packed_input(low: Lowering, tensor: Tensor) -> Value:
    if min(tensor.shape, default=0) < 0:
        raise Unsupported("network.input_type", f"input '{tensor.name}' has type {tensor.dtype} and a dynamic shape")
    raw = low.model.parameter(tensor.name, ElementType.U8, (four_bit.packed_size(tensor.shape),))
    return four_bit.unpack(low, raw, tensor.dtype, tensor.shape)


def _walk(low: Lowering, graph: Graph) -> None:
    _emit(low, graph.ordered())


def _emit(low: Lowering, nodes: list[Node]) -> None:
    for node in nodes:
        low.model.scope = node.name
        RULES[node.kind](low, node)
