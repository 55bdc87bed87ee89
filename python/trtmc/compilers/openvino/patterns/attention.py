"""Attention: rotary embedding, cache updates and causal attention over the cache as one operation on token rows.

    q, k, v [batch, rows, heads*width] -> split heads -> rotate q, k -> update caches -> attend -> merge heads

The heads' transposes, the scale in front of the query, and both KV_CACHE_UPDATE layers go into the fused node; the
cache outputs leave the graph, because the operation updates the caller's memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns import rms_norm
from trtmc.compilers.openvino.patterns.matching import SWAP_HEADS, made_by, permutation, reshaped_only, split_scalar

KIND = "trtmc.Attention"
_ROTARY_KEYS = ("interleaved", "rotary_embedding_dim")


@dataclass(frozen=True)
class _Rotation:
    """The inputs and attributes of a ROTARY_EMBEDDING layer; equal for query and key of one attention."""

    cos: Tensor
    sin: Tensor
    positions: Tensor
    style: str
    width: int


def fuse_attention(graph: Graph) -> int:
    """Each causal, padded attention over two in-place caches whose heads come from and go back to token rows."""
    matched = 0
    for node in graph.ordered():
        if node.kind == "ATTENTION_OUTPUT" and _plain_causal(node):
            matched += _fuse(graph, node)
    graph.prune()
    return matched


def _plain_causal(node: Node) -> bool:
    wanted = {
        "causal_kind": "LOWER_RIGHT",
        "norm_op": "SOFTMAX",
        "query_form": "PADDED_BHND",
        "key_value_form": "PADDED_BHND",
    }
    has_extras = node.input(3) is not None or node.input(6) is not None
    return node.input(4) is not None and not has_extras and all(node.attributes[k] == v for k, v in wanted.items())


def _fuse(graph: Graph, node: Node) -> bool:
    merged = _merged(node)
    key, value = (_cache_update(graph, node, node.required(i)) for i in (1, 2))
    if merged is None or key is None or value is None or key.required(2) is not value.required(2):
        return False
    if key.required(0).shape != value.required(0).shape:
        return False
    _, kv_heads, _, width = key.required(0).shape
    heads = node.required(0).shape[1]
    query, scale = _unscaled(node.required(0))
    query, q_rotation = _unrotated(query)
    keys, k_rotation = _unrotated(key.required(1))
    if q_rotation != k_rotation:
        return False
    rows = [
        token_rows(graph, tensor, count, width)
        for tensor, count in ((query, heads), (keys, kv_heads), (value.required(1), kv_heads))
    ]
    if any(tensor is None for tensor in rows):
        return False
    inputs = [*rows, key.required(0), value.required(0), key.required(2), node.required(4)]
    if q_rotation is not None:
        inputs += [q_rotation.positions, q_rotation.cos, q_rotation.sin]
    attributes: dict[str, Any] = {
        "q_heads": heads,
        "kv_heads": kv_heads,
        "head_dim": width,
        "scale": scale,
        "rotary": q_rotation.style if q_rotation is not None else "none",
        "rotary_dim": q_rotation.width if q_rotation is not None else 0,
        "window": 0,
    }
    fused = graph.new(KIND, node.name, inputs, merged.output.dtype, merged.output.shape, attributes)
    graph.replace(merged.output, fused)
    for update in (key, value):
        _forget_output(graph, update.output)
    return True


def _merged(node: Node) -> Node | None:
    """The SHUFFLE that turns [batch, heads, rows, width] into [batch, rows, heads*width]."""
    shuffle = node.output.sole_user
    if shuffle is None or shuffle.kind != "SHUFFLE" or shuffle.input(1) is not None:
        return None
    _, heads, _, width = node.output.shape
    dims = shuffle.attributes["reshape_dims"]
    merges = dims is not None and tuple(dims) in ((0, 0, heads * width), (0, 0, -1))
    swapped = permutation(shuffle, "first_transpose", 4) == SWAP_HEADS
    return shuffle if merges and swapped and permutation(shuffle, "second_transpose", 3) is None else None


def _cache_update(graph: Graph, attention: Node, tensor: Tensor) -> Node | None:
    """The cache update behind a key or value: its cache is a network input, only this attention reads it."""
    update = made_by(tensor, "KV_CACHE_UPDATE", cache_mode="LINEAR", update_form="PADDED_BHND")
    if update is None or tensor.sole_user is not attention:
        return None
    is_input = any(update.required(0) is t for t in graph.inputs)
    return update if is_input and update.required(0).sole_user is update else None


def _unscaled(query: Tensor) -> tuple[Tensor, float]:
    product = made_by(query, "ELEMENTWISE", op="PROD")
    parts = split_scalar(product) if product is not None else None
    return parts if parts is not None else (query, 1.0)


def _unrotated(tensor: Tensor) -> tuple[Tensor, _Rotation | None]:
    rotary = made_by(tensor, "ROTARY_EMBEDDING")
    positions = rotary.input(3) if rotary is not None else None
    if rotary is None or positions is None:  # without positions the tables are per row: no own operation for that
        return tensor, None
    x, cos, sin = (rotary.required(i) for i in range(3))
    if cos.constant is None or sin.constant is None:
        return tensor, None
    style = "interleaved" if rotary.attributes["interleaved"] else "half"
    return x, _Rotation(cos, sin, positions, style, rotary.attributes["rotary_embedding_dim"] or x.shape[3])


def token_rows(graph: Graph, tensor: Tensor, heads: int, width: int) -> Tensor | None:
    """[batch, rows, heads*width] behind a [batch, heads, rows, width] tensor; an RmsNorm per head moves in front."""
    norm = made_by(tensor, rms_norm.KIND)
    if norm is not None:
        return _norm_of(graph, norm, token_rows(graph, norm.required(0), heads, width))
    shuffle = made_by(tensor, "SHUFFLE")
    if shuffle is None or shuffle.input(1) is not None:
        return None
    source, dims = shuffle.required(0), shuffle.attributes["reshape_dims"]
    first, second = permutation(shuffle, "first_transpose", source.rank), permutation(shuffle, "second_transpose", 4)
    if dims is None:
        only = first if second is None else second if first is None else None
        return _flat(graph, source, heads, width) if only == SWAP_HEADS else None
    splits = source.rank == 3 and tuple(dims) in ((0, 0, heads, width), (0, 0, heads, -1), (0, 0, -1, width))
    return source if splits and first is None and second == SWAP_HEADS else None


def _flat(graph: Graph, tensor: Tensor, heads: int, width: int) -> Tensor | None:
    """[batch, rows, heads*width] behind a [batch, rows, heads, width] tensor."""
    norm = made_by(tensor, rms_norm.KIND)
    if norm is not None:
        return _norm_of(graph, norm, _flat(graph, norm.required(0), heads, width))
    shuffle = made_by(tensor, "SHUFFLE")
    if shuffle is None or not reshaped_only(shuffle) or shuffle.required(0).rank != 3:
        return None
    dims = tuple(shuffle.attributes["reshape_dims"])
    return shuffle.required(0) if dims in ((0, 0, heads, width), (0, 0, heads, -1), (0, 0, -1, width)) else None


def _norm_of(graph: Graph, norm: Node, rows: Tensor | None) -> Tensor | None:
    """The same norm over consecutive blocks of token rows; what stays unused is pruned."""
    if rows is None:
        return None
    inputs = [rows, norm.required(1)]
    return graph.new(rms_norm.KIND, norm.name, inputs, rows.dtype, rows.shape, dict(norm.attributes))


def _forget_output(graph: Graph, tensor: Tensor) -> None:
    kept = [
        (t, n, d)
        for t, n, d in zip(graph.outputs, graph.output_names, graph.output_dtypes, strict=True)
        if t is not tensor
    ]
    graph.outputs = [t for t, _, _ in kept]
    graph.output_names = [n for _, n, _ in kept]
    graph.output_dtypes = [d for _, _, d in kept]
