"""Toy's decoder: attention and MLP read the same norm and are added to the residual together."""

from __future__ import annotations

from families.toy.configuration import ToyConfig
from trtmc.core.contract import Limits, StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.nn import (
    Attention,
    AttentionConfig,
    DecoderStep,
    Embedding,
    KvCache,
    Linear,
    RMSNorm,
    RopeConfig,
    RotaryEmbedding,
)
from trtmc.nn.decoder import cache_outputs, decoder_inputs, decoder_state, layer_cache
from trtmc.ops import Module, ModuleList, NetworkModule, Tensor
from trtmc.ops import functional as F


class ToyBlock(Module):
    """x + attention(norm(x)) + down(relu(up(norm(x))))."""

    def __init__(self, config: ToyConfig) -> None:
        self.norm = RMSNorm(config.width, 1e-5)
        self.attn = Attention(AttentionConfig(config.width, config.heads, config.heads, config.width // config.heads))
        self.up = Linear(config.width, 4 * config.width)
        self.down = Linear(4 * config.width, config.width)

    def forward(self, x: Tensor, step: DecoderStep, cache: KvCache) -> tuple[Tensor, KvCache]:
        normed = self.norm(x)
        attended, cache = self.attn(normed, step.rotation, cache, step.write_indices, step.kv_lengths)
        return x + attended + self.down(F.relu(self.up(normed))), cache


class ToyForCausalLM(NetworkModule):
    """Ids and caches in, logits of the wanted rows and caches out; the head is the embedding."""

    def __init__(self, config: ToyConfig, limits: Limits, dtype: DType) -> None:
        self.config, self.limits, self.dtype = config, limits, dtype
        self.wte = Embedding(config.vocab_size, config.width)
        self.h = ModuleList([ToyBlock(config) for _ in range(config.layers)])
        self.ln_f = RMSNorm(config.width, 1e-5)
        self.head = Linear(config.width, config.vocab_size)
        self.head.weight = self.wte.weight
        self.rotary = RotaryEmbedding(RopeConfig(10000.0), config.width // config.heads, limits.max_sequence, dtype)

    def input_tensors(self) -> list[TensorSpec]:
        config = self.config
        return decoder_inputs(config.layers, config.heads, config.width // config.heads, self.limits, self.dtype)

    def state_links(self) -> list[StateLink]:
        return decoder_state(self.config.layers)

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
        x, updated = self.wte(input_ids), []
        for index in range(len(self.h)):
            x, cache = self.h.run(index, x, step, layer_cache(caches, index))
            updated.append(cache)
        hidden = self.ln_f(F.gather_rows(F.flatten(x), logit_rows))
        return {"logits": F.cast(self.head(hidden), DType.F32), **cache_outputs(updated)}
