"""Non-maximum suppression, per batch element and class, in TensorRT's order of results.

A box is kept if its score exceeds the threshold and it overlaps no better box of its class by more than the IoU
threshold. Results come by rising batch index, then by falling score; of equal scores the lower class comes first, then
the order in which they were chosen (TensorRT leaves that open).
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type

_LEAST = 1.2e-38  # the least normal float


def nms(low: Lowering, node: Node) -> None:
    """Boxes [batch, n, 4] or [batch, n, classes, 4], scores [batch, n, classes]."""
    o = low.ops
    boxes, scores = node.required(0), node.required(1)
    limit, candidates = node.attributes["topk_box_limit"], boxes.shape[1] * scores.shape[2]
    if boxes.shape[1] > 0 and scores.shape[2] > 0 and 0 < limit < candidates:
        raise low.refusal(node, f"{candidates} candidates under a limit of {limit} boxes")
    per_class = boxes.rank == 4
    by_class = o.transpose(low.value(scores), (0, 2, 1))
    if per_class:  # every class becomes a batch element of one class
        flat = o.reshape(by_class, o.concat([o.i64(-1, 1), o.gather(o.shape_of(by_class), o.i64(2), 0)], 0))
        corners = o.reshape(o.transpose(low.value(boxes), (0, 2, 1, 3)), _rows_of(low, flat))
        chosen, kept, count = _suppressed(low, node, corners, flat)
        chosen = _split_batch(low, chosen, o.dim(by_class, 1))
    else:
        chosen, kept, count = _suppressed(low, node, low.value(boxes), by_class)
    order = _order(low, chosen, kept)
    type = operand_type(node.outputs[0].dtype)
    low.put(node.outputs[0], o.convert(o.gather(chosen, order, 0), type))
    if len(node.outputs) > 1:
        low.put(node.outputs[1], o.convert(count, operand_type(node.outputs[1].dtype)))


def _rows_of(low: Lowering, flat: Value) -> Value:
    o = low.ops
    shape = o.shape_of(flat)
    return o.concat([o.gather(shape, o.i64(0, 2), 0), o.i64(4)], 0)


def _suppressed(low: Lowering, node: Node, boxes: Value, scores: Value) -> tuple[Value, Value, Value]:
    """Rows of (batch, class, box) as int64, their scores [rows], and the number of rows."""
    o = low.ops
    most = o.reshape(o.convert(low.value(node.required(2)), ElementType.I64), low.dims_value(()))
    overlap = o.binary("Maximum", o.multiply(_threshold(low, node, 3), o.f32(1 + 2.0**-23)), o.f32(_LEAST))
    thresholds = [overlap, _threshold(low, node, 4)]  # OpenVINO drops a box at the IoU threshold, TensorRT above it
    attributes: dict[str, Attribute] = {
        "box_encoding": "center" if node.attributes["bounding_box_format"] == "CENTER_SIZES" else "corner",
        "sort_result_descending": False,
        "output_type": ElementType.I64,
    }
    inputs = [boxes, scores, most, *thresholds]
    types = [ElementType.I64, ElementType.F32, ElementType.I64]
    layer = low.model.add("NonMaxSuppression", inputs, types, attributes, "opset9")
    count = layer.value(2)
    last = o.reshape(count, low.dims_value((1,)))
    chosen, scored = (o.slice(layer.value(i), o.i64(0), last, o.i64(1), o.i64(0)) for i in (0, 1))
    return chosen, o.gather(scored, o.index(2), 1), o.reshape(count, low.dims_value(()))


def _threshold(low: Lowering, node: Node, index: int) -> Value:
    given = node.input(index)
    if given is None:
        return low.ops.f32(0.0)
    return low.ops.reshape(low.value(given), low.dims_value(()))


def _split_batch(low: Lowering, chosen: Value, classes: Value) -> Value:
    """(batch * classes + class, 0, box) -> (batch, class, box)."""
    o = low.ops
    joined, box = (o.gather(chosen, o.i64(i), 1) for i in (0, 2))
    batch = o.divide(joined, classes)
    return o.concat([batch, o.subtract(joined, o.multiply(batch, classes)), box], 1)


def _order(low: Lowering, chosen: Value, scores: Value) -> Value:
    """Two stable sorts: by score, then by batch."""
    o = low.ops
    count = o.dim(chosen, 0)
    by_score = o.top_k(scores, count, 0, True, ElementType.I64)[1]
    batch = o.gather(o.gather(chosen, o.index(0), 1), by_score, 0)
    by_batch = o.top_k(o.convert(batch, ElementType.F32), count, 0, False, ElementType.I64)[1]
    return o.gather(by_score, by_batch, 0)


RULES: dict[str, Rule] = {"NMS": nms}
