"""The Mistral decoder: what one of its layers is. Parameter paths are the checkpoint's tensor names.

Sliding-window attention is full attention as long as the cache has no more rows than the window, and nothing else is
built here.
"""

from __future__ import annotations

from families.mistral.configuration import MistralConfig
from trtmc.core.contract import Limits
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported
from trtmc.nn import AttentionConfig, CausalLM, DecoderLayer, GatedMLP


class MistralForCausalLM(CausalLM):
    """Ids and caches in, logits of the wanted rows and caches out."""

    def __init__(self, config: MistralConfig, limits: Limits, dtype: DType) -> None:
        if config.window is not None and limits.max_sequence > config.window:
            raise Unsupported(
                "limits.sliding_window",
                f"config.json: 'sliding_window' is {config.window}, so a cache of {limits.max_sequence} rows needs "
                f"sliding-window attention, which is not implemented; build with --max-sequence {config.window}",
            )
        super().__init__(config, [_layer(config) for _ in range(config.num_layers)], limits, dtype)


def _layer(config: MistralConfig) -> DecoderLayer:
    attention = AttentionConfig(
        hidden=config.hidden_size, heads=config.num_heads, kv_heads=config.num_kv_heads, head_dim=config.head_dim
    )
    mlp = GatedMLP(config.hidden_size, config.intermediate_size, config.hidden_act)
    return DecoderLayer(attention, mlp, config.rms_norm_eps)
