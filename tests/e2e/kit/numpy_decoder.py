"""A decoder in plain numpy, double precision: the oracle for checkpoints that a test makes up on the spot.

Written from the model papers' formulas and the checkpoint's config, sharing no code with the builder. Its own test
holds it to the Transformers golden files of every tiny manifest: a case that agrees with it agrees with Transformers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_ERF = np.vectorize(math.erf, otypes=[np.float64])

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "silu": lambda x: x / (1 + np.exp(-x)),
    "relu": lambda x: np.maximum(x, 0),
    "gelu": lambda x: x * 0.5 * (1 + _ERF(x / math.sqrt(2))),
    "gelu_pytorch_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "quick_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
}


def rope_settings(config: Mapping[str, object]) -> Mapping[str, object]:
    """The scaling block of a config in its newer or older spelling; empty where there is none."""
    block = config.get("rope_parameters") or config.get("rope_scaling") or {}
    if not isinstance(block, Mapping):
        raise TypeError("rope settings are no object")
    return block


def yarn_frequencies(plain: Array, theta: float, factor: float, original: float) -> Array:
    """YaRN: fast rotations stay, slow ones are stretched, with a ramp between 32 and 1 turns over the old length."""
    dims = 2 * len(plain)

    def dim_of(turns: float) -> float:
        return dims * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(theta))

    low, high = max(math.floor(dim_of(32)), 0), min(math.ceil(dim_of(1)), dims - 1)
    ramp = np.clip((np.arange(len(plain)) - low) / max(high - low, 0.001), 0, 1)
    return plain / factor * ramp + plain * (1 - ramp)


def rotary_length(config: Mapping[str, object]) -> float:
    """YaRN's factor on the rotated vectors; 1 for all others."""
    block = rope_settings(config)
    return 0.1 * math.log(float(str(block["factor"]))) + 1 if block.get("rope_type") == "yarn" else 1.0


def inverse_frequencies(config: Mapping[str, object], head_dim: int) -> Array:
    """The rotary frequencies, scaling included."""
    scaling = rope_settings(config)
    theta = float(str(scaling.get("rope_theta", config.get("rope_theta", 10000.0))))
    plain = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return plain
    if kind == "linear":
        return plain / float(str(scaling["factor"]))
    if kind == "yarn":
        original = float(str(scaling["original_max_position_embeddings"]))
        return yarn_frequencies(plain, theta, float(str(scaling["factor"])), original)
    if kind != "llama3":
        raise ValueError(f"this oracle does not know rope_type {kind}")
    factor, low, high, original = (
        float(str(scaling[key]))
        for key in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    )
    wavelength = 2 * math.pi / plain
    smooth = (original / wavelength - low) / (high - low)
    blended = (1 - smooth) * plain / factor + smooth * plain
    return np.where(wavelength > original / low, plain / factor, np.where(wavelength < original / high, plain, blended))


class NumpyDecoder:
    """Llama, Qwen2 or Qwen3 by config and weights; ``logits`` runs a whole sequence."""

    def __init__(self, config: Mapping[str, object], weights: Mapping[str, NDArray[np.float32]]) -> None:
        self._config = config
        self._weights = {name: values.astype(np.float64) for name, values in weights.items()}
        self._heads = int(str(config["num_attention_heads"]))
        self._kv_heads = int(str(config.get("num_key_value_heads") or self._heads))
        self._head_dim = len(self._weights["model.layers.0.self_attn.q_proj.weight"]) // self._heads
        self._act = ACTIVATIONS[str(config.get("hidden_act", "silu"))]
        self._rotary_length = rotary_length(config)
        self._eps = float(str(config.get("rms_norm_eps", 1e-6)))

    def logits(self, ids: Sequence[int]) -> Array:
        """Logits [len(ids), vocab]."""
        x = self._weights["model.embed_tokens.weight"][list(ids)]
        for layer in range(int(str(self._config["num_hidden_layers"]))):
            at = f"model.layers.{layer}"
            x = x + self._attention(f"{at}.self_attn", self._norm(f"{at}.input_layernorm.weight", x))
            x = x + self._mlp(f"{at}.mlp", self._norm(f"{at}.post_attention_layernorm.weight", x))
        head = "model.embed_tokens" if self._config.get("tie_word_embeddings") else "lm_head"
        return self._norm("model.norm.weight", x) @ self._weights[f"{head}.weight"].T

    def greedy(self, ids: Sequence[int], count: int) -> list[int]:
        """The most likely continuation, by whole passes."""
        made: list[int] = []
        while len(made) < count:
            made.append(int(self.logits([*ids, *made])[-1].argmax()))
        return made

    def _linear(self, name: str, x: Array) -> Array:
        y = x @ self._weights[f"{name}.weight"].T
        return y + self._weights[f"{name}.bias"] if f"{name}.bias" in self._weights else y

    def _norm(self, name: str, x: Array) -> Array:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self._eps) * self._weights[name]

    def _mlp(self, at: str, x: Array) -> Array:
        gate = self._act(self._linear(f"{at}.gate_proj", x))
        return self._linear(f"{at}.down_proj", gate * self._linear(f"{at}.up_proj", x))

    def _heads_of(self, at: str, part: str, count: int, x: Array) -> Array:
        heads = self._linear(f"{at}.{part}_proj", x).reshape(len(x), count, self._head_dim).swapaxes(0, 1)
        norm = f"{at}.{part}_norm.weight"
        return self._norm(norm, heads) if norm in self._weights else heads

    def _rotate(self, x: Array) -> Array:
        angles = np.arange(x.shape[1])[:, None] * inverse_frequencies(self._config, self._head_dim)
        cos, sin = np.cos(np.hstack([angles, angles])), np.sin(np.hstack([angles, angles]))
        cos, sin = cos * self._rotary_length, sin * self._rotary_length
        half = self._head_dim // 2
        turned = np.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return x * cos + turned * sin

    def _attention(self, at: str, x: Array) -> Array:
        group = self._heads // self._kv_heads
        q = self._rotate(self._heads_of(at, "q", self._heads, x))
        k = np.repeat(self._rotate(self._heads_of(at, "k", self._kv_heads, x)), group, axis=0)
        v = np.repeat(self._heads_of(at, "v", self._kv_heads, x), group, axis=0)
        scores = q @ k.swapaxes(1, 2) / math.sqrt(self._head_dim)
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        mixed = (weights / weights.sum(axis=-1, keepdims=True)) @ v
        return self._linear(f"{at}.o_proj", mixed.swapaxes(0, 1).reshape(len(x), -1))
