"""Tiny checkpoints for tests: a config, seeded weights in any type, written as a folder.

    tiny_llama(attention_bias=True).write(tmp_path / "model")
    model = tiny_qwen3(); model.tensors["lm_head.weight"][3, 5] = 1e9; model.write(folder, dtype="BF16")

Values are random but the same for the same shapes and names; nothing here is a useful model.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trtmc.core.dtype import DType
from trtmc.core.precision import convert

_FORMAT = {"F32": DType.F32, "F16": DType.F16, "BF16": DType.BF16}

_BASE: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
    "tie_word_embeddings": False,
    "use_cache": True,
    "transformers_version": "5.24.0",
    "dtype": "float32",
}


@dataclass
class Tiny:
    """A checkpoint in memory; edit `config` and `tensors` (float32), then `write`."""

    config: dict[str, Any]
    tensors: dict[str, np.ndarray] = field(default_factory=dict)

    def write(self, folder: Path, dtype: str = "F32", drop: Iterable[str] = ()) -> Path:
        """Writes config.json and model.safetensors without the tensors in `drop`; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config, indent=2), "utf-8")
        kept = {name: array for name, array in self.tensors.items() if name not in set(drop)}
        (folder / "model.safetensors").write_bytes(safetensors_bytes(kept, dtype))
        return folder

    def write_sharded(self, folder: Path, shards: int = 2, dtype: str = "F32") -> Path:
        """Writes the tensors over several files, with an index."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.json").write_text(json.dumps(self.config, indent=2), "utf-8")
        names = sorted(self.tensors)
        mapping: dict[str, str] = {}
        for number in range(shards):
            file = f"model-{number + 1:05d}-of-{shards:05d}.safetensors"
            part = {name: self.tensors[name] for name in names[number::shards]}
            mapping |= dict.fromkeys(part, file)
            (folder / file).write_bytes(safetensors_bytes(part, dtype))
        index = {"metadata": {"total_size": 0}, "weight_map": mapping}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index), "utf-8")
        return folder


def tiny_llama(*, drop: Iterable[str] = (), **edit: Any) -> Tiny:
    """A Llama with the given config keys changed and those in `drop` left out (null is not the same as left out)."""
    config = _config("llama", "LlamaForCausalLM", {"attention_bias": False, "mlp_bias": False}, drop, edit)
    attention = {key: bool(config.get("attention_bias")) for key in "qkvo"}
    return Tiny(config, _weights(_shapes(config, attention, bool(config.get("mlp_bias")), qk_norm=False)))


def tiny_mistral(*, drop: Iterable[str] = (), **edit: Any) -> Tiny:
    """A Mistral without a window: no biases anywhere."""
    config = _config("mistral", "MistralForCausalLM", {"sliding_window": None}, drop, edit)
    return Tiny(config, _weights(_shapes(config, dict.fromkeys("qkvo", False), False, qk_norm=False)))


def tiny_qwen2(*, drop: Iterable[str] = (), **edit: Any) -> Tiny:
    """A Qwen2: biases on q, k and v."""
    config = _config("qwen2", "Qwen2ForCausalLM", _SLIDING_OFF, drop, edit)
    return Tiny(config, _weights(_shapes(config, {"q": True, "k": True, "v": True, "o": False}, False, qk_norm=False)))


def tiny_qwen3(*, drop: Iterable[str] = (), **edit: Any) -> Tiny:
    """A Qwen3: norms on queries and keys, explicit head size."""
    config = _config("qwen3", "Qwen3ForCausalLM", {"head_dim": 16, "attention_bias": False, **_SLIDING_OFF}, drop, edit)
    attention = {key: bool(config.get("attention_bias")) for key in "qkvo"}
    return Tiny(config, _weights(_shapes(config, attention, False, qk_norm=True)))


_SLIDING_OFF: dict[str, Any] = {"use_sliding_window": False, "sliding_window": None, "max_window_layers": 28}


def _config(
    model_type: str, architecture: str, own: Mapping[str, Any], drop: Iterable[str], edit: Mapping[str, Any]
) -> dict[str, Any]:
    config = {"architectures": [architecture], "model_type": model_type, **_BASE, **own, **edit}
    return {key: value for key, value in config.items() if key not in set(drop)}


def _shapes(
    config: Mapping[str, Any], bias: Mapping[str, bool], mlp_bias: bool, qk_norm: bool
) -> dict[str, tuple[int, ...]]:
    hidden, inner, heads = config["hidden_size"], config["intermediate_size"], config["num_attention_heads"]
    size = config.get("head_dim") or hidden // heads
    query, keys = heads * size, (config.get("num_key_value_heads") or heads) * size
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    linear = {"q": (query, hidden), "k": (keys, hidden), "v": (keys, hidden), "o": (hidden, query)}
    mlp = {"gate": (inner, hidden), "up": (inner, hidden), "down": (hidden, inner)}
    for layer in range(config["num_hidden_layers"]):
        path = f"model.layers.{layer}."
        for name, shape in linear.items():
            shapes[f"{path}self_attn.{name}_proj.weight"] = shape
            if bias[name]:
                shapes[f"{path}self_attn.{name}_proj.bias"] = shape[:1]
        for name, shape in mlp.items():
            shapes[f"{path}mlp.{name}_proj.weight"] = shape
            if mlp_bias:
                shapes[f"{path}mlp.{name}_proj.bias"] = shape[:1]
        norms = {"input_layernorm": hidden, "post_attention_layernorm": hidden}
        if qk_norm:
            norms |= {"self_attn.q_norm": size, "self_attn.k_norm": size}
        shapes |= {f"{path}{name}.weight": (width,) for name, width in norms.items()}
    shapes["model.norm.weight"] = (hidden,)
    if not config.get("tie_word_embeddings"):
        shapes["lm_head.weight"] = (config["vocab_size"], hidden)
    return shapes


def _weights(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    return {name: _values(name, shape) for name, shape in shapes.items()}


def _values(name: str, shape: tuple[int, ...]) -> np.ndarray:
    noise = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape, dtype=np.float32)
    is_norm = name.endswith("norm.weight")
    return (1 + 0.1 * noise if is_norm else noise * 0.3).astype(np.float32)


def safetensors_bytes(tensors: Mapping[str, np.ndarray], dtype: str = "F32") -> bytes:
    """A safetensors file from float32 arrays, stored as `dtype`, its header aligned as the usual writers do."""
    header: dict[str, Any] = {}
    parts, position = [], 0
    for name, array in tensors.items():
        data = np.ascontiguousarray(convert(array.astype(np.float32), DType.F32, _FORMAT[dtype], name)).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [position, position + len(data)]}
        parts.append(data)
        position += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)
