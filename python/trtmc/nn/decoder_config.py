"""What the configurations of decoder-only language models have in common; a family adds what its line has besides.

@dataclass(frozen=True, kw_only=True)
class LlamaConfig(DecoderConfig):
    mlp_bias: bool
"""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType
from trtmc.nn.rope_config import RopeConfig


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """What embedding, layers, caches and head are made from."""

    dtype: DType | None
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    hidden_act: str
    rms_norm_eps: float
    rope: RopeConfig
    max_positions: int
    tied: bool


def read_kv_heads(config: StrictConfig, heads: int, *, absent: int | None = None) -> int:
    """`num_key_value_heads`; groups of heads must come out even.

    Null means as many as there are `heads`; no such key means `absent`, by default the same.
    """
    there = absent is None or config.has_key("num_key_value_heads")
    kv_heads = config.integer("num_key_value_heads", default=heads if there else absent, minimum=1)
    if heads % kv_heads:
        raise config.bad(
            "num_attention_heads", f"must be a multiple of 'num_key_value_heads' ({kv_heads}), found {heads}"
        )
    return kv_heads


def read_head_dim(config: StrictConfig, hidden: int, heads: int) -> int:
    """`head_dim`, by default an even share of the hidden size."""
    if hidden % heads and not config.has("head_dim"):
        raise config.bad("hidden_size", f"must be a multiple of 'num_attention_heads' ({heads}), found {hidden}")
    return config.even("head_dim", default=hidden // heads)
