"""From a Llama checkpoint's tensors to the network's parameters: names are equal, the head may be tied."""

from __future__ import annotations

from families.llama.configuration import LlamaConfig
from families.llama.modeling_llama_llm import LlamaForCausalLM
from trtmc.core.weights import WeightSource
from trtmc.nn import load_causal_lm

IGNORED = {"model.layers.*.self_attn.rotary_emb.inv_freq": "a buffer of old exports, computed from the config"}


def load(module: LlamaForCausalLM, config: LlamaConfig, source: WeightSource) -> None:
    """Loads all parameters and refuses leftovers."""
    load_causal_lm(module, config, source, IGNORED)
