"""Tiny checkpoints of the decoder families with seeded values: config.json + model.safetensors, made by numpy alone.

The tensors are those that Transformers expects for the config's ``model_type``. Values are large enough that the logits
of a random model spread over several units, so that a wrong activation, rope factor or bias changes the greedy ids
instead of hiding in the noise. Knows nothing of our builder: it is the test's independent idea of a checkpoint.

    >>> sorted(tensor_shapes({"model_type": "llama", "num_hidden_layers": 0, "vocab_size": 5, "hidden_size": 4,
    ...                       "intermediate_size": 8, "num_attention_heads": 2, "tie_word_embeddings": True}))
    ['model.embed_tokens.weight', 'model.norm.weight']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Shapes = dict[str, tuple[int, ...]]
Weights = dict[str, NDArray[np.float32]]

#: Model types whose projections of q, k and v carry a bias by themselves.
_QKV_BIAS = ("qwen2",)
#: Model types that normalise every head of q and k.
_QK_NORM = ("qwen3",)


def tensor_shapes(config: Mapping[str, object]) -> Shapes:
    """Every tensor of the checkpoint, in the order of the layers."""

    def number(key: str, default: int = 0) -> int:
        value = config.get(key)
        return default if value is None else int(str(value))

    hidden, middle, vocab = number("hidden_size"), number("intermediate_size"), number("vocab_size")
    heads = number("num_attention_heads")
    kv_heads = number("num_key_value_heads", heads)
    head_dim = number("head_dim", 128 if config["model_type"] == "qwen3" else hidden // heads)
    attention_bias = bool(config.get("attention_bias", False))
    qkv_bias = attention_bias or config["model_type"] in _QKV_BIAS
    shapes: Shapes = {"model.embed_tokens.weight": (vocab, hidden)}

    def linear(name: str, out_size: int, in_size: int, bias: bool) -> None:
        shapes[f"{name}.weight"] = (out_size, in_size)
        if bias:
            shapes[f"{name}.bias"] = (out_size,)

    for layer in range(number("num_hidden_layers")):
        at = f"model.layers.{layer}"
        shapes[f"{at}.input_layernorm.weight"] = (hidden,)
        linear(f"{at}.self_attn.q_proj", heads * head_dim, hidden, qkv_bias)
        linear(f"{at}.self_attn.k_proj", kv_heads * head_dim, hidden, qkv_bias)
        linear(f"{at}.self_attn.v_proj", kv_heads * head_dim, hidden, qkv_bias)
        linear(f"{at}.self_attn.o_proj", hidden, heads * head_dim, attention_bias)
        if config["model_type"] in _QK_NORM:
            shapes[f"{at}.self_attn.q_norm.weight"] = (head_dim,)
            shapes[f"{at}.self_attn.k_norm.weight"] = (head_dim,)
        shapes[f"{at}.post_attention_layernorm.weight"] = (hidden,)
        mlp_bias = bool(config.get("mlp_bias", False))
        linear(f"{at}.mlp.gate_proj", middle, hidden, mlp_bias)
        linear(f"{at}.mlp.up_proj", middle, hidden, mlp_bias)
        linear(f"{at}.mlp.down_proj", hidden, middle, mlp_bias)
    shapes["model.norm.weight"] = (hidden,)
    if not config.get("tie_word_embeddings", False):
        shapes["lm_head.weight"] = (vocab, hidden)
    return shapes


def seeded_values(shapes: Shapes, seed: int) -> Weights:
    """Values of every tensor. Each depends on the seed and its own name only, never on its neighbours."""
    weights: Weights = {}
    for name, shape in shapes.items():
        stream = int.from_bytes(sha256(f"{seed}:{name}".encode()).digest()[:8], "little")
        normal = np.random.Generator(np.random.PCG64(stream)).standard_normal(shape).astype(np.float32)
        if name.endswith("norm.weight"):
            weights[name] = np.float32(1.0) + np.float32(0.2) * normal
        elif name.endswith(".bias"):
            weights[name] = np.float32(0.5) * normal
        elif name == "model.embed_tokens.weight":
            weights[name] = normal
        else:
            gain = 3.0 if name == "lm_head.weight" else 1.5
            weights[name] = normal * np.float32(gain / np.sqrt(shape[-1]))
    return weights


def write_safetensors(path: Path, weights: Mapping[str, NDArray[np.generic]], dtype: str = "float32") -> None:
    """Writes the values as float32, float16 or bfloat16 (rounded to nearest even), names in the given order."""
    tag = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}[dtype]
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    blobs: list[bytes] = []
    offset = 0
    for name, values in weights.items():
        blob = encode(np.asarray(values, dtype=np.float32), dtype)
        header[name] = {"dtype": tag, "shape": list(values.shape), "data_offsets": [offset, offset + len(blob)]}
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(blobs))


def encode(values: NDArray[np.float32], dtype: str) -> bytes:
    """Little-endian bytes of the values in the dtype."""
    if dtype == "float32":
        return values.astype("<f4").tobytes()
    if dtype == "float16":
        return values.astype("<f2").tobytes()
    bits = np.ascontiguousarray(values, dtype="<f4").view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)
    return rounded.astype("<u2").tobytes()


def make_tiny(folder: Path, config: Mapping[str, object], seed: int, dtype: str = "float32") -> Path:
    """Writes config.json and model.safetensors into the folder (made if missing) and returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(dict(config), indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    write_safetensors(folder / "model.safetensors", seeded_values(tensor_shapes(config), seed), dtype)
    return folder
