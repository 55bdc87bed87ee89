"""Toy's config.json, every key of it."""

from __future__ import annotations

from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType
from trtmc.core.transformers_config import read_common


@dataclass(frozen=True)
class ToyConfig:
    """What the network is made from. `dtype` and `max_positions` are what the builder asks of every family."""

    dtype: DType | None
    max_positions: int
    vocab_size: int
    width: int
    layers: int
    heads: int


def read_config(config: StrictConfig) -> ToyConfig:
    """Keys that are not read here are refused by name."""
    common = read_common(config, ["toy"], ["ToyForCausalLM"])
    return ToyConfig(
        dtype=common.dtype,
        max_positions=config.integer("n_positions", minimum=1),
        vocab_size=config.integer("vocab_size", minimum=1),
        width=config.integer("n_embd", minimum=1),
        layers=config.integer("n_layer", minimum=1),
        heads=config.integer("n_head", minimum=1),
    )
