"""The Qwen decoder, module for module as in Transformers: parameter paths are the checkpoint's tensor names."""

from __future__ import annotations

from families.qwen.configuration import QwenConfig
from trtmc.core.contract import Limits, StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.nn import AttentionConfig, DecoderLayer, DecoderStep, Embedding, GatedMLP, Linear, RMSNorm, RotaryEmbedding
from trtmc.nn.decoder import cache_outputs, decoder_inputs, decoder_state, layer_cache
from trtmc.ops import Module, ModuleList, NetworkModule, Tensor
from trtmc.ops import functional as F


class QwenModel(Module):
    """Embedding, decoder layers and the final norm."""

    def __init__(self, config: QwenConfig) -> None:
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size)
        self.layers = ModuleList([_layer(config) for _ in range(config.num_layers)])
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(
        self, input_ids: Tensor, logit_rows: Tensor, step: DecoderStep, caches: dict[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Normed hidden states of the wanted rows only, [rows, hidden], and the updated caches."""
        x = self.embed_tokens(input_ids)
        updated = []
        for index in range(len(self.layers)):
            x, cache = self.layers.run(index, x, step, layer_cache(caches, index))
            updated.append(cache)
        return self.norm(F.gather_rows(F.flatten(x), logit_rows)), cache_outputs(updated)


class QwenForCausalLM(NetworkModule):
    """Ids and caches in, logits of the wanted rows and caches out."""

    def __init__(self, config: QwenConfig, limits: Limits, dtype: DType) -> None:
        self.config, self.limits, self.dtype = config, limits, dtype
        self.model = QwenModel(config)
        self.lm_head = Linear(config.hidden_size, config.vocab_size)
        if config.tied:
            self.lm_head.weight = self.model.embed_tokens.weight
        self.rotary = RotaryEmbedding(config.rope, config.head_dim, limits.max_sequence, dtype)

    def input_tensors(self) -> list[TensorSpec]:
        return decoder_inputs(
            self.config.num_layers, self.config.num_kv_heads, self.config.head_dim, self.limits, self.dtype
        )

    def state_links(self) -> list[StateLink]:
        return decoder_state(self.config.num_layers)

    def forward(
        self,
        input_ids: Tensor,
        position_ids: Tensor,
        write_indices: Tensor,
        kv_lengths: Tensor,
        logit_rows: Tensor,
        **caches: Tensor,
    ) -> dict[str, Tensor]:
        step = DecoderStep(self.rotary.at(position_ids), write_indices, kv_lengths)
        hidden, updated = self.model(input_ids, logit_rows, step, caches)
        return {"logits": F.cast(self.lm_head(hidden), DType.F32), **updated}


def _layer(config: QwenConfig) -> DecoderLayer:
    attention = AttentionConfig(
        hidden=config.hidden_size,
        heads=config.num_heads,
        kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        qkv_bias=config.qkv_bias,
        out_bias=config.out_bias,
        qk_norm_eps=config.rms_norm_eps if config.qk_norm else None,
    )
    mlp = GatedMLP(config.hidden_size, config.intermediate_size, config.hidden_act)
    return DecoderLayer(attention, mlp, config.rms_norm_eps)
