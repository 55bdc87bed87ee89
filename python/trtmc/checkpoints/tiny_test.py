"""The generator: complete checkpoints, the same bytes again, and text that goes there and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from tokenizers import Tokenizer

from trtmc.checkpoints.tiny import TinySpec, generate_tiny, narrowed, tensor_values
from trtmc.checkpoints.tiny_text import byte_alphabet, learn
from trtmc.core.errors import UsageError


@pytest.mark.parametrize("model_type", ["llama", "qwen2", "qwen3"])
def test_same_spec_same_bytes(tmp_path: Path, model_type: str) -> None:
    spec = TinySpec(model_type=model_type, seed=3)
    generate_tiny(tmp_path / "a", spec)
    generate_tiny(tmp_path / "b", spec)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    generate_tiny(tmp_path / "c", replace(spec, seed=4))
    assert (tmp_path / "a" / names[2]).read_bytes() != (tmp_path / "c" / names[2]).read_bytes()


def test_values_are_the_same_everywhere() -> None:
    """Pinned: bundles and goldens made from generated checkpoints depend on them."""
    values = tensor_values(7, "model.layers.0.mlp.up_proj.weight", (3, 5))
    assert hashlib.sha256(values.tobytes()).hexdigest() == PINNED_VALUES
    large = tensor_values(7, "x.weight", (200, 200))
    assert abs(float(large.mean())) < 1e-3
    assert float(large.std()) == pytest.approx(1.5 / np.sqrt(200), rel=0.02)


PINNED_VALUES = "3ec2a318784474d8010909c0d04bd55c599cfe16552d5031c1faad98d643136a"


def test_qwen3_tensors_and_sizes(tmp_path: Path) -> None:
    spec = TinySpec(model_type="qwen3", head_dim=24, tied=False, layers=1)
    generate_tiny(tmp_path / "m", spec)
    with safe_open(tmp_path / "m" / "model.safetensors", "np") as file:
        shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    assert shapes["model.layers.0.self_attn.q_proj.weight"] == (96, 48)
    assert shapes["model.layers.0.self_attn.o_proj.weight"] == (48, 96)
    assert shapes["model.layers.0.self_attn.k_norm.weight"] == (24,)
    assert shapes["lm_head.weight"] == (512, 48)
    assert "model.layers.0.self_attn.q_proj.bias" not in shapes
    assert len(shapes) == 14


def test_qwen2_has_biases_on_qkv_alone() -> None:
    names = [name for name, _ in TinySpec(model_type="qwen2", layers=1).tensors()]
    assert [name for name in names if name.endswith(".bias")] == [
        f"model.layers.0.self_attn.{p}_proj.bias" for p in "qkv"
    ]


def test_config_fits_the_tokenizer(tmp_path: Path) -> None:
    generate_tiny(tmp_path / "m", TinySpec())
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == config["vocab_size"] == 512
    assert tokenizer.id_to_token(config["eos_token_id"]) == "<|im_end|>"
    assert tokenizer.id_to_token(config["pad_token_id"]) == "<|endoftext|>"
    text_config = json.loads((tmp_path / "m" / "tokenizer_config.json").read_text())
    assert "<|im_start|>" in text_config["chat_template"]


@pytest.mark.parametrize("vocab_size", [259, 300, 512])
def test_any_text_comes_back(tmp_path: Path, vocab_size: int) -> None:
    generate_tiny(tmp_path / "m", TinySpec(vocab_size=vocab_size, layers=1))
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    for text in (
        "",
        "The answer, 12345!\r\n\t x",
        "é 你好 \U0001f389\u0000\x7f",
        "<|im_start|>user\nHi<|im_end|>",
        " " * 9,
    ):
        ids = tokenizer.encode(text).ids
        assert tokenizer.decode(ids, skip_special_tokens=False) == text
        assert all(i < vocab_size for i in ids)
    assert tokenizer.encode("<|im_end|>").ids == [vocab_size - 1]


def test_alphabet_is_the_byte_level_one() -> None:
    assert len(set(byte_alphabet())) == 256
    assert byte_alphabet()[0] == "!"
    assert byte_alphabet()[256 - 68] == "\u0100"


def test_sizes_that_cannot_be() -> None:
    with pytest.raises(UsageError, match="at least 259"):
        learn(258)
    with pytest.raises(UsageError, match="can be learned"):
        learn(100000)
    for bad in ({"heads": 3}, {"head_dim": 13}, {"mlp_bias": True}, {"model_type": "gpt2"}, {"layers": 0}):
        with pytest.raises(UsageError):
            TinySpec(**bad)


def test_bfloat16_rounds_to_nearest_even() -> None:
    values = np.array([1.0, 1.00390625, 1.01171875, 1.0 + 2**-8 + 2**-20, -2.5], np.float32)
    assert narrowed(values, "bfloat16").tolist() == [0x3F80, 0x3F80, 0x3F82, 0x3F81, 0xC020]


def test_weights_of_each_type_are_stored(tmp_path: Path) -> None:
    for dtype, spelled in (("float32", "F32"), ("float16", "F16"), ("bfloat16", "BF16")):
        generate_tiny(tmp_path / dtype, TinySpec(dtype=dtype, layers=1))
        data = (tmp_path / dtype / "model.safetensors").read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        assert {entry["dtype"] for name, entry in header.items() if name != "__metadata__"} == {spelled}
