"""Tiny checkpoints: deterministic bytes, readable by safetensors, right tensors for each kind of config."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from trtmc.e2e.tiny import encode, make_tiny, seeded_values, tensor_shapes, write_safetensors

CONFIG: dict[str, object] = {
    "model_type": "llama",
    "vocab_size": 11,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


@pytest.mark.parametrize(
    ("edit", "there", "not_there"),
    [
        ({}, "lm_head.weight", "model.layers.0.self_attn.q_proj.bias"),
        ({"tie_word_embeddings": True}, "model.norm.weight", "lm_head.weight"),
        ({"attention_bias": True}, "model.layers.0.self_attn.o_proj.bias", "model.layers.0.mlp.up_proj.bias"),
        ({"mlp_bias": True}, "model.layers.0.mlp.down_proj.bias", "model.layers.0.self_attn.q_proj.bias"),
        ({"model_type": "qwen2"}, "model.layers.0.self_attn.q_proj.bias", "model.layers.0.self_attn.o_proj.bias"),
        ({"model_type": "qwen3"}, "model.layers.0.self_attn.k_norm.weight", "model.layers.0.self_attn.k_proj.bias"),
    ],
)
def test_tensors_follow_the_config(edit: dict[str, object], there: str, not_there: str) -> None:
    shapes = tensor_shapes({**CONFIG, **edit})
    assert there in shapes
    assert not_there not in shapes


def test_head_dim_null_means_derived() -> None:
    shapes = tensor_shapes({**CONFIG, "head_dim": None})
    assert shapes["model.layers.0.self_attn.k_proj.weight"] == (4, 8)


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    paths = [
        make_tiny(tmp_path / name, CONFIG, seed) / "model.safetensors" for name, seed in (("a", 1), ("b", 1), ("c", 2))
    ]
    first, again, other = (path.read_bytes() for path in paths)
    assert first == again != other


def test_a_tensor_does_not_depend_on_its_neighbours() -> None:
    small = seeded_values(tensor_shapes(CONFIG), 1)
    large = seeded_values(tensor_shapes({**CONFIG, "num_hidden_layers": 3, "attention_bias": True}), 1)
    assert all(np.array_equal(large[name], values) for name, values in small.items())


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_safetensors_reads_the_file(tmp_path: Path, dtype: str) -> None:
    values = {"x": np.array([[1.0, -2.5], [0.0, 3.0]], np.float32), "scalar": np.array(7.0, np.float32)}
    write_safetensors(tmp_path / "m.safetensors", values, dtype)
    with safe_open(tmp_path / "m.safetensors", framework="numpy") as file:
        assert set(file.keys()) == {"x", "scalar"}
        assert file.get_slice("x").get_shape() == [2, 2]


def test_bfloat16_rounds_to_nearest_even() -> None:
    halfway_down = np.float32(1.0 + 2**-8)
    halfway_up = np.float32(1.0 + 3 * 2**-8)
    bits = np.frombuffer(encode(np.array([halfway_down, halfway_up, 65519.0], np.float32), "bfloat16"), "<u2")
    back = (bits.astype(np.uint32) << 16).view(np.float32)
    assert back.tolist() == [1.0, 1.015625, 65536.0]
