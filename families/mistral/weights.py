"""From a Mistral checkpoint's tensors to the network's parameters: names are equal, the head may be tied."""

from __future__ import annotations

from families.mistral.configuration import MistralConfig
from families.mistral.modeling_mistral_llm import MistralForCausalLM
from trtmc.core.weights import WeightSource
from trtmc.nn import load_causal_lm


def load(module: MistralForCausalLM, config: MistralConfig, source: WeightSource) -> None:
    """Loads all parameters and refuses leftovers."""
    load_causal_lm(module, config, source, {})
