"""Qwen's configuration: every key of config.json that shapes the network, with the defaults of Transformers.

Qwen2 has biases on q, k and v; Qwen3 has none by default, norms queries and keys per head and states its head size.
"""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.transformers_config import read_common
from trtmc.nn import MAX_LAYERS, DecoderConfig, read_head_dim, read_kv_heads, read_rope_config
from trtmc.ops.functional import ACTIVATIONS

_QWEN3_HEAD_DIM = 128


@dataclass(frozen=True, kw_only=True)
class QwenConfig(DecoderConfig):
    """What the network is made from."""

    qkv_bias: bool
    out_bias: bool
    qk_norm: bool


def read_config(config: StrictConfig) -> QwenConfig:
    """Reads config.json; what it asks for and we lack is refused by name."""
    common = read_common(config, ["qwen2", "qwen3"], ["Qwen2ForCausalLM", "Qwen3ForCausalLM"])
    qwen3 = common.model_type == "qwen3"
    hidden = config.integer("hidden_size", minimum=1)
    heads = config.integer("num_attention_heads", minimum=1)
    layers = config.integer("num_hidden_layers", minimum=1, maximum=MAX_LAYERS)
    positions = config.integer("max_position_embeddings", default=32768, minimum=1)
    bias = config.boolean("attention_bias", default=False) if qwen3 else False
    rope = read_rope_config(config, max_positions=positions)
    config.expect({"use_mrope": False})
    _refuse_sliding_window(config, layers)
    return QwenConfig(
        dtype=common.dtype,
        vocab_size=config.integer("vocab_size", minimum=1),
        hidden_size=hidden,
        intermediate_size=config.integer("intermediate_size", minimum=1),
        num_layers=layers,
        num_heads=heads,
        num_kv_heads=_kv_heads(config, heads),
        head_dim=_head_dim(config, hidden, heads, qwen3),
        hidden_act=config.choice("hidden_act", ACTIVATIONS, default="silu"),
        rms_norm_eps=config.number("rms_norm_eps", default=1e-6, above=0),
        rope=rope,
        max_positions=rope.reach(positions),
        qkv_bias=bias if qwen3 else True,
        out_bias=bias,
        qk_norm=qwen3,
        tied=config.boolean("tie_word_embeddings", default=False),
    )


def _kv_heads(config: StrictConfig, heads: int) -> int:
    if not config.has_key("num_key_value_heads"):
        raise config.bad(
            "num_key_value_heads", "is missing; state it, since Transformers' default (32) is rarely meant"
        )
    return read_kv_heads(config, heads)


def _head_dim(config: StrictConfig, hidden: int, heads: int, qwen3: bool) -> int:
    if qwen3:
        if config.has_key("head_dim") and not config.has("head_dim"):
            raise config.bad("head_dim", "is null; qwen3 needs a number (or no such key, which means 128)")
        return config.even("head_dim", default=_QWEN3_HEAD_DIM)
    return read_head_dim(config, hidden, heads)


def _refuse_sliding_window(config: StrictConfig, layers: int) -> None:
    """The window counts only if its switch is on and it reaches a layer; that is not implemented."""
    switch = config.boolean("use_sliding_window", default=False)
    window = config.integer("sliding_window", default=None)
    first = config.integer("max_window_layers", default=28)
    kinds = config.items("layer_types", default=None)
    if kinds is None:
        if switch and window is not None and first < layers:
            raise config.unsupported(
                "use_sliding_window",
                f"is true (window {window} from layer {first} on); only full attention is implemented",
            )
        return
    if len(kinds) != layers:
        raise config.bad("layer_types", f"has {len(kinds)} entries, 'num_hidden_layers' is {layers}")
    other = next((kind for kind in kinds if kind != "full_attention"), None)
    if other is not None:
        raise config.unsupported(
            "layer_types", f"asks for {other!r} in layer {kinds.index(other)}; only 'full_attention' is implemented"
        )
