"""Tiny decoder checkpoints with seeded random weights and a working tokenizer: complete, and always the same bytes.

A value depends on the seed, the tensor's name and its place in the tensor, on nothing else; so two specs that differ
in one tensor share all others. Values are spread so that a wrong factor, bias or rotation changes the greedy ids
instead of drowning in rounding.

This module knows how Transformers names the tensors of llama, qwen2 and qwen3, and nothing about our builder.

    generate_tiny(Path("out"), TinySpec(model_type="qwen3", seed=7, head_dim=24))
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from trtmc.checkpoints.files import JsonValue, filled_folder, write_json
from trtmc.checkpoints.safetensors_writer import SafetensorsWriter, TensorDecl
from trtmc.checkpoints.tiny_text import TinyVocabulary, write_tiny_text
from trtmc.core.errors import UsageError

ModelType = Literal["llama", "qwen2", "qwen3"]
_ARCHITECTURES: dict[str, str] = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM"}
_SPELLED = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


@dataclass(frozen=True)
class TinySpec:
    """A decoder to generate; the defaults have odd sizes on purpose, so that no multiple of 16 hides a mistake."""

    model_type: ModelType = "qwen2"
    seed: int = 0
    dtype: Literal["float32", "float16", "bfloat16"] = "float32"
    hidden_size: int = 48
    intermediate_size: int = 104
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 12
    vocab_size: int = 512
    max_positions: int = 512
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-6
    tied: bool = True
    attention_bias: bool = False
    mlp_bias: bool = False

    def __post_init__(self) -> None:
        if self.model_type not in _ARCHITECTURES or self.dtype not in _SPELLED:
            raise UsageError("tiny.spec", f"model_type '{self.model_type}' or dtype '{self.dtype}' is not known")
        if (
            self.heads % self.kv_heads
            or self.head_dim % 2
            or min(self.hidden_size, self.intermediate_size, self.layers) < 1
        ):
            raise UsageError(
                "tiny.spec", "heads must be a multiple of kv_heads, head_dim even, and every size positive"
            )
        if self.model_type == "qwen2" and (self.attention_bias or self.mlp_bias):
            raise UsageError("tiny.spec", "qwen2 has its biases built in: leave attention_bias and mlp_bias alone")
        if self.model_type == "qwen3" and self.mlp_bias:
            raise UsageError("tiny.spec", "qwen3 knows no mlp_bias")

    def config(self, vocabulary: TinyVocabulary) -> dict[str, JsonValue]:
        """The content of config.json."""
        ids = vocabulary.control_ids
        config: dict[str, JsonValue] = {
            "architectures": [_ARCHITECTURES[self.model_type]],
            "bos_token_id": ids["<|endoftext|>"],
            "eos_token_id": ids["<|im_end|>"],
            "head_dim": self.head_dim,
            "hidden_act": "silu",
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "max_position_embeddings": self.max_positions,
            "model_type": self.model_type,
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.kv_heads,
            "pad_token_id": ids["<|endoftext|>"],
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": self.tied,
            "torch_dtype": self.dtype,
            "vocab_size": self.vocab_size,
        }
        if self.model_type == "llama":
            config |= {"attention_bias": self.attention_bias, "mlp_bias": self.mlp_bias}
        elif self.model_type == "qwen3":
            config |= {"attention_bias": self.attention_bias, "use_sliding_window": False}
        else:
            config |= {"use_sliding_window": False}
        return config

    def tensors(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Name and shape of every tensor, in the order of the file."""
        yield "model.embed_tokens.weight", (self.vocab_size, self.hidden_size)
        for layer in range(self.layers):
            yield from self._layer(f"model.layers.{layer}")
        yield "model.norm.weight", (self.hidden_size,)
        if not self.tied:
            yield "lm_head.weight", (self.vocab_size, self.hidden_size)

    def _layer(self, at: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        wide, narrow = self.heads * self.head_dim, self.kv_heads * self.head_dim
        qkv_bias = self.attention_bias or self.model_type == "qwen2"
        linears = (
            ("self_attn.q_proj", wide, self.hidden_size, qkv_bias),
            ("self_attn.k_proj", narrow, self.hidden_size, qkv_bias),
            ("self_attn.v_proj", narrow, self.hidden_size, qkv_bias),
            ("self_attn.o_proj", self.hidden_size, wide, self.attention_bias),
            ("mlp.gate_proj", self.intermediate_size, self.hidden_size, self.mlp_bias),
            ("mlp.up_proj", self.intermediate_size, self.hidden_size, self.mlp_bias),
            ("mlp.down_proj", self.hidden_size, self.intermediate_size, self.mlp_bias),
        )
        yield f"{at}.input_layernorm.weight", (self.hidden_size,)
        for name, rows, columns, bias in linears:
            yield f"{at}.{name}.weight", (rows, columns)
            if bias:
                yield f"{at}.{name}.bias", (rows,)
        if self.model_type == "qwen3":
            yield f"{at}.self_attn.q_norm.weight", (self.head_dim,)
            yield f"{at}.self_attn.k_norm.weight", (self.head_dim,)
        yield f"{at}.post_attention_layernorm.weight", (self.hidden_size,)


def tensor_values(seed: int, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The float32 values of one tensor: sums of raw generator bits, so that every numpy and machine gives the same."""
    digest = hashlib.sha256(f"trtmc tiny {seed} {name}".encode()).digest()
    bits = np.random.PCG64(int.from_bytes(digest[:16], "little"))
    count = int(np.prod(shape))
    words = bits.random_raw(count).astype(np.uint64)
    # Four 16-bit uniforms summed: bell-shaped, variance 4/12, exact in float64.
    parts = sum(((words >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.float64) for i in range(4))
    normal = (parts / 65536.0 - 2.0) * np.sqrt(3.0)
    if name.endswith("norm.weight"):
        values = 1.0 + 0.2 * normal
    elif name.endswith(".bias"):
        values = 0.5 * normal
    elif name == "model.embed_tokens.weight":
        values = normal
    else:
        gain = 3.0 if name == "lm_head.weight" else 1.5
        values = normal * (gain / np.sqrt(shape[-1]))
    return values.astype(np.float32).reshape(shape)


def narrowed(values: np.ndarray, dtype: str) -> np.ndarray:
    """Float32 values in `dtype`, rounded to nearest even; bfloat16 travels as uint16."""
    if dtype != "bfloat16":
        return np.ascontiguousarray(values, dtype=np.dtype(dtype))
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.uint64)
    return ((bits + np.uint64(0x7FFF) + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)


def generate_tiny(out: Path, spec: TinySpec) -> None:
    """Fills the folder `out`, which must be absent or empty."""
    with filled_folder(out) as folder:
        vocabulary = write_tiny_text(folder, spec.vocab_size, spec.max_positions)
        config = spec.config(vocabulary)
        write_json(folder / "config.json", config)
        generation = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
        write_json(folder / "generation_config.json", generation)
        declared = [TensorDecl(name, _SPELLED[spec.dtype], shape) for name, shape in spec.tensors()]
        with SafetensorsWriter(folder / "model.safetensors", declared, {"format": "pt"}) as writer:
            for tensor in declared:
                values = tensor_values(spec.seed, tensor.name, tensor.shape)
                writer.write(tensor.name, [narrowed(values, spec.dtype)])
