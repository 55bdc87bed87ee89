"""From a Qwen checkpoint's tensors to the network's parameters: names are equal, the head may be tied."""

from __future__ import annotations

from families.qwen.configuration import QwenConfig
from families.qwen.modeling_qwen_llm import QwenForCausalLM
from trtmc.core.weights import WeightSource
from trtmc.nn.tied_head import settle_tied_head
from trtmc.ops.loading import load_parameters

IGNORED = {"model.layers.*.self_attn.rotary_emb.inv_freq": "a buffer of old exports, computed from the config"}

_UNTIED = {"lm_head.weight": "'tie_word_embeddings' is false, so the embedding cannot stand in for it"}


def load(module: QwenForCausalLM, config: QwenConfig, source: WeightSource) -> None:
    """Loads all parameters and refuses leftovers."""
    load_parameters(module, source, reasons=_UNTIED)
    if config.tied:
        settle_tied_head(source, head="lm_head.weight", embedding="model.embed_tokens.weight")
    source.finish(IGNORED)
