"""Grouped-query attention with rotary positions and an in-place KV cache."""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.nn.basic import Linear, RMSNorm
from trtmc.nn.rotary import Rotation
from trtmc.ops import Module, Tensor
from trtmc.ops import functional as F


@dataclass(frozen=True)
class AttentionConfig:
    """Shape of one attention block. `qk_norm_eps` adds an RMS norm per head to queries and keys."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    qkv_bias: bool = False
    out_bias: bool = False
    qk_norm_eps: float | None = None


@dataclass(frozen=True)
class KvCache:
    """One layer's cache tensors, [batch, kv_heads, capacity, head_dim]."""

    key: Tensor
    value: Tensor


class Attention(Module):
    """Multi-head (kv_heads = heads), grouped-query or multi-query (kv_heads = 1) attention."""

    def __init__(self, config: AttentionConfig) -> None:
        query, keys = config.heads * config.head_dim, config.kv_heads * config.head_dim
        self.config = config
        self.q_proj = Linear(config.hidden, query, config.qkv_bias)
        self.k_proj = Linear(config.hidden, keys, config.qkv_bias)
        self.v_proj = Linear(config.hidden, keys, config.qkv_bias)
        self.o_proj = Linear(query, config.hidden, config.out_bias)
        if config.qk_norm_eps is not None:
            self.q_norm = RMSNorm(config.head_dim, config.qk_norm_eps)
            self.k_norm = RMSNorm(config.head_dim, config.qk_norm_eps)

    def forward(
        self, x: Tensor, rotation: Rotation, cache: KvCache, write_indices: Tensor, kv_lengths: Tensor
    ) -> tuple[Tensor, KvCache]:
        """x [batch, sequence, hidden] -> the same shape, and the updated cache."""
        heads, kv_heads = self.config.heads, self.config.kv_heads
        query, key, value = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.config.qk_norm_eps is None:
            query, key = F.split_heads(query, heads), F.split_heads(key, kv_heads)
        else:
            query = F.swap_heads(self.q_norm(F.unflatten_last(query, heads)))
            key = F.swap_heads(self.k_norm(F.unflatten_last(key, kv_heads)))
        query, key = rotation.apply(query), rotation.apply(key)
        cache = KvCache(
            F.kv_cache_update(cache.key, key, write_indices),
            F.kv_cache_update(cache.value, F.split_heads(value, kv_heads), write_indices),
        )
        context = F.attention(query, cache.key, cache.value, kv_lengths, scale=self.config.head_dim**-0.5)
        return self.o_proj(F.merge_heads(context)), cache
