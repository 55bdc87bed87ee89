"""A mixture of experts: all experts over all rows, then each row's selected ones, weighted by their scores.

expert(x) = down(swiglu(gate(x), up(x))). The parameters of the gate (TensorRT names them, the reading is that of
NVIDIA's kernels): gate up to `limit`, up within +-limit, then gate * sigmoid(alpha * gate) * (up + beta).
Exact in meaning, not fast: experts that nobody selects are computed too, and left out.
"""

from __future__ import annotations

import math

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule
from trtmc.compilers.openvino.lowering.quantization import rounded_to
from trtmc.core.dtype import DType

_GATE, _UP, _DOWN, _BIASES, _SCALE = 3, 4, 5, 6, 9  # inputs; biases follow in the same order


def moe(low: Lowering, node: Node) -> None:
    """x [batch, rows, hidden], selected and scores [batch, rows, k]."""
    o, a = low.ops, node.attributes
    if a["activation_type"] != "SILU":
        raise low.refusal(node, f"activation {a['activation_type']}")
    source, selected, scores = (low.value(node.required(i)) for i in range(3))
    hidden, count = node.required(0).shape[2], node.required(1).shape[2]
    rows = o.unsqueeze(o.reshape(source, o.i64(-1, hidden)), o.i64(0))
    experts = o.gather(o.shape_of(low.value(node.required(_GATE))), o.i64(0), 0)
    rows = o.broadcast(rows, o.concat([experts, o.i64(1, 1)], 0), bidirectional=True)  # the plugin's product won't
    gate, up = (_linear(low, node, rows, weights) for weights in (_GATE, _UP))
    inner = _gated(low, node, gate, up)
    if a["quantization_to_type"] is not DType.F32:
        scale = low.widened(node.required(_SCALE))
        inner = rounded_to(low, node, inner, o.reshape(scale, low.dims_value(())), a["quantization_to_type"])
    by_row = o.transpose(_linear(low, node, inner, _DOWN), (1, 0, 2))
    picked = o.gather(by_row, o.reshape(selected, o.i64(-1, count)), 1, 1)
    weighted = o.multiply(picked, o.unsqueeze(o.reshape(scores, o.i64(-1, count)), o.i64(2)))
    total = o.reduce("ReduceSum", weighted, (1,), False)
    low.put(node.output, o.reshape(total, o.shape_of(source)))


def _linear(low: Lowering, node: Node, x: Value, weights: int) -> Value:
    """[experts, rows, in] -> [experts, rows, out]."""
    y = low.ops.matmul(x, low.widened(node.required(weights)))
    bias = node.input(_BIASES + weights - _GATE)
    return y if bias is None else low.ops.add(y, low.ops.unsqueeze(low.widened(bias), low.ops.i64(1)))


def _gated(low: Lowering, node: Node, gate: Value, up: Value) -> Value:
    o = low.ops
    limit, alpha, beta = (float(node.attributes[f"swiglu_param_{key}"]) for key in ("limit", "alpha", "beta"))
    if math.isfinite(limit):
        gate = o.binary("Minimum", gate, o.f32(limit))
        up = o.binary("Maximum", o.binary("Minimum", up, o.f32(limit)), o.f32(-limit))
    slope = gate if alpha == 1 else o.multiply(gate, o.f32(alpha))
    opened = o.multiply(gate, low.model.add("Sigmoid", [slope], [ElementType.F32]).value())
    return o.multiply(opened, up if beta == 0 else o.add(up, o.f32(beta)))


RULES: dict[str, Rule] = {"MOE": moe}
