"""Mistral's configuration: every key of config.json that shapes the network, with the defaults of Transformers."""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.transformers_config import read_common
from trtmc.nn import MAX_LAYERS, DecoderConfig, read_head_dim, read_kv_heads, read_rope_config
from trtmc.ops.functional import ACTIVATIONS

_KV_HEADS = 8
_WINDOW = 4096


@dataclass(frozen=True, kw_only=True)
class MistralConfig(DecoderConfig):
    """What the network is made from. `window`: how many positions a query sees, its own among them; None for all."""

    window: int | None


def read_config(config: StrictConfig) -> MistralConfig:
    """Reads config.json; what it asks for and we lack is refused by name."""
    common = read_common(config, ["mistral"], ["MistralForCausalLM"])
    hidden = config.integer("hidden_size", minimum=1)
    heads = config.integer("num_attention_heads", minimum=1)
    positions = config.integer("max_position_embeddings", default=131072, minimum=1)
    rope = read_rope_config(config, max_positions=positions)
    return MistralConfig(
        dtype=common.dtype,
        vocab_size=config.integer("vocab_size", minimum=1),
        hidden_size=hidden,
        intermediate_size=config.integer("intermediate_size", minimum=1),
        num_layers=config.integer("num_hidden_layers", minimum=1, maximum=MAX_LAYERS),
        num_heads=heads,
        # Null means as many as there are heads, no such key means 8.
        num_kv_heads=read_kv_heads(config, heads, absent=_KV_HEADS),
        head_dim=read_head_dim(config, hidden, heads),
        hidden_act=config.choice("hidden_act", ACTIVATIONS, default="silu"),
        rms_norm_eps=config.number("rms_norm_eps", default=1e-6, above=0),
        rope=rope,
        max_positions=rope.reach(positions),
        window=_window(config),
        tied=config.boolean("tie_word_embeddings", default=False),
    )


def _window(config: StrictConfig) -> int | None:
    """Null switches the window off, no such key means Transformers' 4096."""
    if not config.has_key("sliding_window"):
        return _WINDOW
    return config.integer("sliding_window", default=None, minimum=1)
