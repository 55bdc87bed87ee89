"""The Llama decoder: what one of its layers is. Parameter paths are the checkpoint's tensor names."""

from __future__ import annotations

from families.llama.configuration import LlamaConfig
from trtmc.core.contract import Limits
from trtmc.core.dtype import DType
from trtmc.nn import AttentionConfig, CausalLM, DecoderLayer, GatedMLP


class LlamaForCausalLM(CausalLM):
    """Ids and caches in, logits of the wanted rows and caches out."""

    def __init__(self, config: LlamaConfig, limits: Limits, dtype: DType) -> None:
        super().__init__(config, [_layer(config) for _ in range(config.num_layers)], limits, dtype)


def _layer(config: LlamaConfig) -> DecoderLayer:
    attention = AttentionConfig(
        hidden=config.hidden_size,
        heads=config.num_heads,
        kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        qkv_bias=config.attention_bias,
        out_bias=config.attention_bias,
    )
    mlp = GatedMLP(config.hidden_size, config.intermediate_size, config.hidden_act, config.mlp_bias)
    return DecoderLayer(attention, mlp, config.rms_norm_eps)
