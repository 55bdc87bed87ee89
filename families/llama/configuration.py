"""Llama's configuration: every key of config.json that shapes the network, with the defaults of Transformers.

Mistral is the same network without biases. Its window is implemented as far as it changes nothing: a sequence that fits
into the window is attended to in full, so the window bounds the positions.
"""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.transformers_config import read_common
from trtmc.nn import MAX_LAYERS, DecoderConfig, read_head_dim, read_kv_heads, read_rope_config
from trtmc.ops.functional import ACTIVATIONS

MAX_POSITIONS = 2**31 - 1
_MISTRAL_WINDOW = 4096  # of Transformers, for a config.json without the key


@dataclass(frozen=True, kw_only=True)
class LlamaConfig(DecoderConfig):
    """What the network is made from."""

    attention_bias: bool
    mlp_bias: bool


def read_config(config: StrictConfig) -> LlamaConfig:
    """Reads config.json; what it asks for and we lack is refused by name."""
    common = read_common(config, ["llama", "mistral"], ["LlamaForCausalLM", "MistralForCausalLM"])
    mistral = common.model_type == "mistral"
    hidden = config.integer("hidden_size", minimum=1)
    heads = config.integer("num_attention_heads", minimum=1)
    if mistral and not config.has("num_key_value_heads"):
        raise config.bad("num_key_value_heads", "is missing; state it, since Transformers' default (8) is rarely meant")
    kv_heads = read_kv_heads(config, heads)
    head_dim = read_head_dim(config, hidden, heads)
    positions = config.integer("max_position_embeddings", default=4096 * 32 if mistral else 2048, minimum=1)
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
        max_positions=min(rope.reach(positions), _window(config) if mistral else MAX_POSITIONS),
        attention_bias=not mistral and config.boolean("attention_bias", default=False),
        mlp_bias=not mistral and config.boolean("mlp_bias", default=False),
        tied=config.boolean("tie_word_embeddings", default=False),
    )


def _window(config: StrictConfig) -> int:
    """Tokens that a token sees, itself included; null means all."""
    default = _MISTRAL_WINDOW if not config.has_key("sliding_window") else MAX_POSITIONS
    return config.integer("sliding_window", default=default, minimum=1)
