"""Llama's configuration: every key of config.json that shapes the network, with the defaults of Transformers."""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.transformers_config import read_common
from trtmc.nn import MAX_LAYERS, DecoderConfig, read_head_dim, read_kv_heads, read_rope_config
from trtmc.ops.functional import ACTIVATIONS


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(DecoderConfig):
    """What the network is made from."""

    attention_bias: bool
    mlp_bias: bool


def read_config(config: StrictConfig) -> LlamaConfig:
    """Reads config.json; what it asks for and we lack is refused by name."""
    common = read_common(config, ["llama"], ["LlamaForCausalLM"])
    hidden = config.integer("hidden_size", minimum=1)
    heads = config.integer("num_attention_heads", minimum=1)
    kv_heads = read_kv_heads(config, heads)
    head_dim = read_head_dim(config, hidden, heads)
    positions = config.integer("max_position_embeddings", default=2048, minimum=1)
    rope = read_rope_config(config, max_positions=positions)
    return LlamaConfig(
        dtype=common.dtype,
        vocab_size=config.integer("vocab_size", minimum=1),
        hidden_size=hidden,
        intermediate_size=config.integer("intermediate_size", minimum=1),
        num_layers=config.integer("num_hidden_layers", minimum=1, maximum=MAX_LAYERS),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=head_dim,
        hidden_act=config.choice("hidden_act", ACTIVATIONS, default="silu"),
        rms_norm_eps=config.number("rms_norm_eps", default=1e-6, above=0),
        rope=rope,
        max_positions=rope.reach(positions),
        attention_bias=config.boolean("attention_bias", default=False),
        mlp_bias=config.boolean("mlp_bias", default=False),
        tied=config.boolean("tie_word_embeddings", default=False),
    )
