"""Toy's checkpoint stores q, k and v as one matrix; splitting it costs nothing, since the parts are views of it."""

from __future__ import annotations

from families.toy.configuration import ToyConfig
from families.toy.modeling_toy_llm import ToyForCausalLM
from trtmc.core.weights import ConstantData, WeightSource


def load(module: ToyForCausalLM, config: ToyConfig, source: WeightSource) -> None:
    """Loads all parameters and refuses leftovers."""
    parameters = dict(module.named_parameters())
    for layer in range(config.layers):
        fused = source.take(f"h.{layer}.attn.qkv.weight", (3 * config.width, config.width))
        for part, name in enumerate(("q_proj", "k_proj", "v_proj")):
            rows = fused.array[part * config.width : (part + 1) * config.width]
            path = f"h.{layer}.attn.{name}.weight"
            parameters.pop(path).load(ConstantData(path, fused.dtype, rows.shape, rows))
    for path, parameter in parameters.items():
        parameter.load(source.take(path, parameter.shape))
    source.finish(ignore={})
