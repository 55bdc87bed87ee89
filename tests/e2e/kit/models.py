"""Tiny checkpoints to order: a random llama, mistral or qwen, and the chain model whose every answer can be forced.

Knows the Hugging Face folder layout; nothing of our builder. Everything is seeded.

    tiny(folder, "llama", hidden_act="gelu")              # config.json edited before the weights are made
    chain(folder, walk_table([2, 3, 4], vocab=16))        # greedy decoding after 2 says 3, then 4
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trtmc.e2e.tiny import Weights, seeded_values, tensor_shapes, write_safetensors

Config = dict[str, object]

BASE: Config = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-6,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "rope_theta": 10000.0,
}
ARCHITECTURE = {
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}


def config_of(model_type: str, drop: Sequence[str] = (), **edit: object) -> Config:
    """The base config of a model type with some keys left out and others set."""
    start: Config = {"model_type": model_type, "architectures": [ARCHITECTURE.get(model_type, "Unknown")]}
    if model_type == "qwen3":
        start["head_dim"] = 12
    return {key: value for key, value in {**start, **BASE, **edit}.items() if key not in drop}


def write_config(folder: Path, config: Mapping[str, object]) -> None:
    """Writes config.json and nothing else."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(dict(config), indent=1), encoding="utf-8")


def tiny(
    folder: Path,
    model_type: str,
    drop: Sequence[str] = (),
    *,
    seed: int = 0,
    stored: str = "float32",
    change: Callable[[Weights], None] | None = None,
    **edit: object,
) -> tuple[Config, Weights]:
    """A random checkpoint; ``change`` may edit the weights before they are stored. Returns config and weights."""
    config = config_of(model_type, drop, **edit)
    weights = seeded_values(tensor_shapes(config), seed)
    if change is not None:
        change(weights)
    write_config(folder, config)
    write_safetensors(folder / "model.safetensors", weights, stored)
    return config, weights


def write_shards(folder: Path, weights: Mapping[str, NDArray[np.float32]], shards: int = 2) -> list[Path]:
    """Stores the weights in several files with an index, and removes the single file."""
    (folder / "model.safetensors").unlink(missing_ok=True)
    names = list(weights)
    files = [folder / f"model-{i + 1:05d}-of-{shards:05d}.safetensors" for i in range(shards)]
    weight_map: dict[str, str] = {}
    for index, file in enumerate(files):
        part = names[index * len(names) // shards : (index + 1) * len(names) // shards]
        write_safetensors(file, {name: weights[name] for name in part})
        weight_map |= dict.fromkeys(part, file.name)
    total = sum(values.nbytes for values in weights.values())
    index_json = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index_json), encoding="utf-8")
    return files


def chain(folder: Path, table: NDArray[np.float32], **edit: object) -> tuple[Config, Weights]:
    """The chain model: ``table[i][j]`` is the logit of token j after token i (to about 5e-5)."""
    vocab = len(table)
    shape: Config = {
        "vocab_size": vocab,
        "hidden_size": vocab,
        "intermediate_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": 2,
        "max_position_embeddings": 64,
    }
    config = {**config_of("llama"), **shape, **edit}
    weights = seeded_values(tensor_shapes(config), 0)
    for name, values in weights.items():
        if "o_proj" in name or "down_proj" in name:
            values[...] = 0.0
        elif name.endswith("norm.weight"):
            values[...] = 1.0
    weights["model.embed_tokens.weight"] = np.eye(vocab, dtype=np.float32)
    weights["lm_head.weight"] = (np.asarray(table, np.float32).T / np.sqrt(np.float32(vocab))).astype(np.float32)
    write_config(folder, config)
    write_safetensors(folder / "model.safetensors", weights)
    return config, weights


def echo(folder: Path, vocab: int, **edit: object) -> None:
    """The model whose best next token is the token itself: its logits show which ids a prompt became."""
    chain(folder, 20.0 * np.eye(vocab, dtype=np.float32), max_position_embeddings=1024, **edit)


def walk_table(walk: Sequence[int], vocab: int, strength: float = 20.0) -> NDArray[np.float32]:
    """A table that leads from each id of the walk to the next one; every other id leads to 0."""
    table = np.zeros((vocab, vocab), np.float32)
    table[:, 0] = strength / 2
    for here, there in itertools.pairwise(walk):
        table[here, there] = strength
    return table
