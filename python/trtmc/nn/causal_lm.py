"""The causal language model around its layers: embedding, layers with a KV cache, final norm, head.

Parameter paths are those of Transformers' `*ForCausalLM` classes. A family says what a layer is and gives a list of
them; what goes in and out is that of trtmc.nn.decoder. Knows no model line.

    class LlamaForCausalLM(CausalLM):
        def __init__(self, config, limits, dtype):
            super().__init__(config, [llama_layer(config) for _ in range(config.num_layers)], limits, dtype)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trtmc.core.contract import Limits, StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.weights import WeightSource
from trtmc.nn.basic import Embedding, Linear, RMSNorm
from trtmc.nn.decoder import DecoderLayer, DecoderStep, cache_outputs, decoder_inputs, decoder_state, layer_cache
from trtmc.nn.decoder_config import DecoderConfig
from trtmc.nn.rotary import RotaryEmbedding
from trtmc.nn.tied_head import settle_tied_head
from trtmc.ops import Module, ModuleList, NetworkModule, Tensor
from trtmc.ops import functional as F
from trtmc.ops.loading import load_parameters

_HEAD = "lm_head.weight"
_EMBEDDING = "model.embed_tokens.weight"
_UNTIED = {_HEAD: "'tie_word_embeddings' is false, so the embedding cannot stand in for it"}


class DecoderModel(Module):
    """Embedding, decoder layers and the final norm."""

    def __init__(self, config: DecoderConfig, layers: Sequence[DecoderLayer]) -> None:
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size)
        self.layers = ModuleList(layers)
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(
        self, input_ids: Tensor, logit_rows: Tensor, step: DecoderStep, caches: Mapping[str, Tensor]
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Normed hidden states of the wanted rows only, [rows, hidden], and the updated caches."""
        x = self.embed_tokens(input_ids)
        updated = []
        for index in range(len(self.layers)):
            x, cache = self.layers.run(index, x, step, layer_cache(caches, index))
            updated.append(cache)
        return self.norm(F.gather_rows(F.flatten(x), logit_rows)), cache_outputs(updated)


class CausalLM(NetworkModule):
    """Ids and caches in, logits of the wanted rows and caches out."""

    def __init__(self, config: DecoderConfig, layers: Sequence[DecoderLayer], limits: Limits, dtype: DType) -> None:
        self.config, self.limits, self.dtype = config, limits, dtype
        self.model = DecoderModel(config, layers)
        self.lm_head = Linear(config.hidden_size, config.vocab_size)
        if config.tied:
            self.lm_head.weight = self.model.embed_tokens.weight
        self.rotary = RotaryEmbedding(config.rope, config.head_dim, limits.max_sequence, dtype)

    def input_tensors(self) -> list[TensorSpec]:
        config = self.config
        return decoder_inputs(len(self.model.layers), config.num_kv_heads, config.head_dim, self.limits, self.dtype)

    def state_links(self) -> list[StateLink]:
        return decoder_state(len(self.model.layers))

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


def load_causal_lm(module: CausalLM, config: DecoderConfig, source: WeightSource, ignore: Mapping[str, str]) -> None:
    """Loads all parameters by name, accounts for a stored copy of a tied head, and refuses leftovers.

    `ignore` maps patterns of tensor names that the network needs not to the reason.
    """
    load_parameters(module, source, reasons=_UNTIED)
    if config.tied:
        settle_tied_head(source, head=_HEAD, embedding=_EMBEDDING)
    source.finish(ignore)
