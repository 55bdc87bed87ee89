"""Rotary embedding, KV-cache update and attention in standard operations: the reference form.

Exact in meaning, not fast: a cache is an input and an output, rebuilt in every run. Decoder engines use the own
operations of `patterns/` instead. What the TensorRT layers mean:

- attention has no scale inside; query heads are a multiple of key/value heads;
- LOWER_RIGHT with lengths puts the corner at the valid length: query t of T sees key j <= t + length - T;
- a cache row past the end is dropped, without an error.
"""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering import packed
from trtmc.compilers.openvino.lowering.context import Lowering, Rule
from trtmc.compilers.openvino.lowering.quantization import rounded_to
from trtmc.core.dtype import DType

_KEY_LENGTHS, _QUERY_LENGTHS = 4, 5  # inputs
_MASKED = -1e30  # exp() of it is zero next to any real score


def rotary_embedding(low: Lowering, node: Node) -> None:
    """Rotates the first `rotary_embedding_dim` elements (0: all) of each head of [batch, heads, rows, width]."""
    source, o = node.required(0), low.ops
    if source.rank != 4:
        raise low.refusal(node, f"an input of rank {source.rank}, expected [batch, heads, rows, width]")
    x, width = low.value(source), source.shape[3]
    turned = node.attributes["rotary_embedding_dim"] or width
    cos, sin = (_table(low, node.required(i), node.input(3)) for i in (1, 2))
    if node.attributes["interleaved"]:
        even, odd = (_columns(low, x, first, turned, 2) for first in (0, 1))
        parts = [o.unsqueeze(v, o.i64(-1)) for v in _rotated(low, even, odd, cos, sin)]
        y = o.reshape(o.concat(parts, -1), o.i64(0, 0, 0, turned), zero_copies=True)
    else:
        half = turned // 2
        low_half, high_half = (_columns(low, x, a, a + half, 1) for a in (0, half))
        y = o.concat(_rotated(low, low_half, high_half, cos, sin), -1)
    if turned < width:
        y = o.concat([y, _columns(low, x, turned, width, 1)], -1)
    low.put(node.output, y)


def _table(low: Lowering, table: Tensor, positions: Tensor | None) -> Value:
    """[batch, 1, rows, half]: rows of [positions, half] picked by position, or [batch, rows, half] as given."""
    value = low.value(table)
    if positions is not None:
        value = low.once(("rotary", id(table), id(positions)), lambda: low.ops.gather(value, low.value(positions), 0))
    return low.ops.unsqueeze(value, low.ops.i64(1))


def _columns(low: Lowering, x: Value, start: int, stop: int, step: int) -> Value:
    return low.ops.slice(x, low.ops.i64(start), low.ops.i64(stop), low.ops.i64(step), low.ops.i64(3))


def _rotated(low: Lowering, a: Value, b: Value, cos: Value, sin: Value) -> list[Value]:
    o = low.ops
    return [
        o.subtract(o.multiply(a, cos), o.multiply(b, sin)),
        o.add(o.multiply(b, cos), o.multiply(a, sin)),
    ]


def kv_cache_update(low: Lowering, node: Node) -> None:
    """Row s of the result is row s - write_index of the update where there is one, else the cache's own row.

    Looked at from the cache's side there is nothing to drop: rows past the end simply have no place.
    """
    if node.attributes["update_form"] == packed.PACKED:
        low.put(node.output, packed.cache_rows(low, node))
        return
    cache, update, indices = (low.value(node.required(i)) for i in range(3))
    o, rows = low.ops, node.required(0).shape[2]
    count = o.dim(update, 2)

    def relative() -> Value:
        every = o.range(o.index(0), o.index(rows), o.index(1))
        return o.subtract(o.unsqueeze(every, o.i64(0)), o.unsqueeze(o.convert(indices, ElementType.I64), o.i64(1)))

    at = low.once(("cache rows", id(node.required(2)), rows), relative)  # [batch, rows]
    new = o.logical("LogicalAnd", o.compare("GreaterEqual", at, o.index(0)), o.compare("Less", at, count))
    last = o.subtract(count, o.index(1))
    clamped = o.binary("Minimum", o.binary("Maximum", at, o.index(0)), last)
    picked = o.gather(update, clamped, 2, 1)
    low.put(node.output, o.select(o.unsqueeze(new, o.i64(1, 3)), picked, cache))


def attention(low: Lowering, node: Node) -> None:
    """softmax(q k^T, masked) v over [batch, heads, rows, width], or over packed rows."""
    query, key, value = (node.required(i) for i in range(3))
    _check_attention(low, node, query, key)
    if packed.PACKED in (node.attributes["query_form"], node.attributes["key_value_form"]):
        low.put(node.output, _packed_attention(low, node))
        return
    q, k, v = (low.value(t) for t in (query, key, value))
    mask_tensor, lengths = node.input(3), node.input(4)
    if lengths is not None and mask_tensor is None:  # rows past every length are masked anyway: leave them out early
        k, v = (_first_rows(low, x, lengths) for x in (k, v))
    if query.shape[1] != key.shape[1]:
        k, v = (_repeated(low, x, query.shape[1] // key.shape[1], query.shape[1]) for x in (k, v))
    additive = mask_tensor is not None and mask_tensor.dtype is not DType.BOOL
    allowed = _allowed(low, node, q, k, None if additive else mask_tensor, lengths)
    bias = low.value(mask_tensor) if additive and mask_tensor is not None else None
    low.put(node.output, _attended(low, node, q, k, v, allowed, bias))


def _packed_attention(low: Lowering, node: Node) -> Value:
    query, key, value = (node.required(i) for i in range(3))
    if node.input(3) is not None:
        raise low.refusal(node, "a mask over packed rows")

    def rows(tensor: Tensor, form: str, lengths: int) -> packed.Rows:
        if node.attributes[form] == packed.PACKED:
            return packed.packed_rows(low, tensor, node.required(lengths))
        return packed.padded_rows(low, tensor, node.input(lengths) if lengths == _KEY_LENGTHS else None)

    queries = rows(query, "query_form", _QUERY_LENGTHS)
    keys, values = (rows(t, "key_value_form", _KEY_LENGTHS) for t in (key, value))
    k, v = keys.x, values.x
    if query.shape[1] != key.shape[1]:
        k, v = (_repeated(low, x, query.shape[1] // key.shape[1], query.shape[1]) for x in (k, v))
    allowed = packed.visible(low, queries, keys, node.attributes["causal_kind"])
    y = _attended(low, node, queries.x, k, v, allowed, None)
    return packed.as_query(low, y, query, node.attributes["query_form"])


def _attended(
    low: Lowering, node: Node, q: Value, k: Value, v: Value, allowed: Value | None, bias: Value | None
) -> Value:
    """`allowed` says who sees whom (None: all), `bias` is added to the scores."""
    o = low.ops
    if node.input(6) is None and node.attributes["norm_op"] == "SOFTMAX":
        if allowed is not None:
            penalty = o.select(allowed, o.f32(0.0), o.f32(_MASKED))
            bias = penalty if bias is None else o.add(bias, penalty)
        y = o.attention(q, k, v, bias if bias is not None else o.f32(0.0), o.f32(1.0))
        return y if allowed is None else _zero_without_keys(low, allowed, y)
    scores = o.matmul(q, k, transpose_b=True)
    scores = scores if bias is None else o.add(scores, bias)
    if node.attributes["norm_op"] == "SOFTMAX":
        scores = o.softmax(scores if allowed is None else o.select(allowed, scores, o.f32(_MASKED)), 3)
    scores = scores if allowed is None else o.select(allowed, scores, o.f32(0.0))
    if node.input(6) is not None:
        scale = o.reshape(low.widened(node.required(6)), low.dims_value(()))
        scores = rounded_to(low, node, scores, scale, node.attributes["normalization_quantize_to_type"])
    return o.matmul(scores, v)


def _first_rows(low: Lowering, x: Value, lengths: Tensor) -> Value:
    """The rows of a cache up to the greatest length."""
    o = low.ops

    def longest() -> Value:
        return o.reduce("ReduceMax", o.convert(low.value(lengths), ElementType.I64), (0,), True)

    return o.slice(x, o.i64(0), low.once(("longest", id(lengths)), longest), o.i64(1), o.i64(2))


def _zero_without_keys(low: Lowering, allowed: Value, y: Value) -> Value:
    """A query that sees no key gives zeros, as in ONNX and as in our own operation."""
    last = low.ops.i64(-1)
    some = low.model.add("ReduceLogicalOr", [allowed, last], [ElementType.BOOLEAN], {"keep_dims": True}).value()
    return low.ops.select(some, y, low.ops.f32(0.0))


def _check_attention(low: Lowering, node: Node, query: Tensor, key: Tensor) -> None:
    if node.attributes["num_ranks"] not in (0, 1):
        raise low.refusal(node, f"an attention over {node.attributes['num_ranks']} devices")
    if query.shape[1] < 0 or key.shape[1] < 0 or query.shape[1] % key.shape[1]:
        raise low.refusal(node, f"{query.shape[1]} query heads over {key.shape[1]} key/value heads")


def _repeated(low: Lowering, x: Value, times: int, heads: int) -> Value:
    """Each key/value head serves `times` query heads that lie next to each other."""
    o = low.ops
    wide = o.broadcast(o.unsqueeze(x, o.i64(2)), o.i64(1, 1, times, 1, 1), bidirectional=True)
    shape = o.shape_of(wide)
    target = o.concat([o.gather(shape, o.i64(0), 0), o.i64(heads), o.gather(shape, o.i64(3, 4), 0)], 0)
    return o.reshape(wide, target)


def _allowed(
    low: Lowering, node: Node, q: Value, k: Value, mask: Tensor | None, lengths: Tensor | None
) -> Value | None:
    """Which (query, key) pairs take part: bool, broadcast against [batch, heads, queries, keys]; None: all."""
    o, kind = low.ops, node.attributes["causal_kind"]
    parts: list[Value] = [] if mask is None else [low.value(mask)]
    key = o.unsqueeze(o.range(o.index(0), o.dim(k, 2), o.index(1)), o.i64(0, 1, 2))
    valid = None
    if lengths is not None:
        valid = o.unsqueeze(o.convert(low.value(lengths), ElementType.I64), o.i64(1, 2, 3))
        parts.append(o.compare("Less", key, valid))
    if kind != "NONE":
        count = o.dim(q, 2)
        row = o.unsqueeze(o.range(o.index(0), count, o.index(1)), o.i64(0, 1, 3))
        if kind == "LOWER_RIGHT":
            end = valid if valid is not None else o.dim(k, 2)
            row = o.add(row, o.subtract(end, count))
        parts.append(o.compare("LessEqual", key, row))
    if not parts:
        return None
    result = parts[0]
    for part in parts[1:]:
        result = o.logical("LogicalAnd", result, part)
    return result


RULES: dict[str, Rule] = {
    "ROTARY_EMBEDDING": rotary_embedding,
    "KV_CACHE_UPDATE": kv_cache_update,
    "ATTENTION_OUTPUT": attention,
}
