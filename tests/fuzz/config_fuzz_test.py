"""Damaged configs: whatever stands in config.json, a family reads it or says what is wrong, and never anything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trtmc.core.build import resolve_limits
from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.core.family import load
from trtmc.testing import Tiny, tiny_llama, tiny_mistral, tiny_qwen2, tiny_qwen3
from trtmc.testing.mutations import mutations

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
MODELS: dict[str, tuple[str, Callable[..., Tiny], dict[str, Any]]] = {
    "llama": ("llama", tiny_llama, {"rope_parameters": LLAMA3, "head_dim": 12}),
    "llama, old spelling": ("llama", tiny_llama, {"rope_parameters": None, "rope_theta": 5e5, "rope_scaling": LLAMA3}),
    "mistral": ("mistral", tiny_mistral, {"sliding_window": 4096}),
    "qwen2": ("qwen", tiny_qwen2, {"layer_types": ["full_attention"] * 2}),
    "qwen3": ("qwen", tiny_qwen3, {}),
}


@pytest.mark.parametrize("name", MODELS)
def test_damaged_configs(name: str) -> None:
    owner, make, edit = MODELS[name]
    family = load(owner)
    read = refused = 0
    for values in mutations(make(**edit).config, 3000, seed=len(name)):
        reader = StrictConfig(values, "config.json")
        try:
            config = family.read_config(reader)
            reader.finish()
            limits = resolve_limits(config, None, None)
            module = family.component("llm").create(config, limits, DType.F32)  # shapes only
        except (BadInput, Unsupported) as error:
            assert "config.json: " in error.message
            refused += 1
            continue
        assert dict(module.named_parameters())
        read += 1
    assert read > 100
    assert refused > 1000


def test_errors_are_reported_errors() -> None:
    assert issubclass(BadInput, TrtmcError)
    assert issubclass(Unsupported, TrtmcError)
