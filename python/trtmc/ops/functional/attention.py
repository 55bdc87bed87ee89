"""Attention over a cache, and the cache update."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.ops.functional.checks import require, same_dtype
from trtmc.ops.lowering import attention as lower
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor


def kv_cache_update(cache: Tensor, update: Tensor, write_indices: Tensor) -> Tensor:
    """Writes update [batch, heads, sequence, D] into cache [batch, heads, capacity, D] from row write_indices[b] on.

    In place: the result must be bound to the cache's memory. Rows past the capacity are the runtime's to refuse.
    """
    same_dtype("kv_cache_update", cache, update)
    matching = (
        cache.rank == update.rank == 4 and cache.shape[:2] == update.shape[:2] and cache.shape[3] == update.shape[3]
    )
    require(matching, "kv_cache_update", f"cache {cache} and update {update} do not match")
    require(isinstance(cache.shape[2], int), "kv_cache_update", f"the capacity of {cache} must be a number")
    require(write_indices.dtype is DType.I32, "kv_cache_update", f"write indices must be int32, found {write_indices}")
    handle = lower.kv_cache_update(current().lowering, cache.handle, update.handle, write_indices.handle)
    return Tensor(cache.dtype, cache.shape, handle)


def attention(query: Tensor, key: Tensor, value: Tensor, kv_lengths: Tensor, *, scale: float) -> Tensor:
    """Causal attention of query [B, NQ, T, D] over key/value [B, NK, S, D] of which kv_lengths[b] rows are valid.

    Query row t of sequence b sees key rows j <= kv_lengths[b] - T + t. NQ is a multiple of NK. Result like query.
    """
    same_dtype("attention", query, key, value)
    require(
        query.rank == key.rank == 4 and key.shape == value.shape,
        "attention",
        f"found query {query}, key {key}, value {value}",
    )
    heads, groups = query.shape[1], key.shape[1]
    require(
        isinstance(heads, int) and isinstance(groups, int) and heads % groups == 0,
        "attention",
        f"{heads} query heads are not a multiple of {groups} key heads",
    )
    require(query.shape[3] == key.shape[3], "attention", f"head sizes differ: {query} and {key}")
    require(
        kv_lengths.dtype is DType.I32 and kv_lengths.rank == 1,
        "attention",
        f"lengths must be int32 [batch], found {kv_lengths}",
    )
    net = current().lowering
    handle = lower.causal_attention(net, query.handle, key.handle, value.handle, kv_lengths.handle, scale)
    return Tensor(query.dtype, query.shape, handle)
