"""The GGUF conversion against files made here from known weights, and what it refuses."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFWriter, quants
from safetensors.numpy import load_file
from tokenizers import Tokenizer

from trtmc.checkpoints.gguf import convert_gguf
from trtmc.checkpoints.tiny_text import CONTROL_TOKENS, learn
from trtmc.core.errors import ExitCode, TrtmcError

HIDDEN, HEADS, KV_HEADS, MIDDLE, LAYERS = 64, 4, 2, 96, 2
VOCABULARY = learn(320)
TOKENS = [*CONTROL_TOKENS, *VOCABULARY.tokens]
HF_NAMES = {
    "attn_norm": ("input_layernorm", (HIDDEN,)),
    "attn_q": ("self_attn.q_proj", (HIDDEN, HIDDEN)),
    "attn_k": ("self_attn.k_proj", (HIDDEN // 2, HIDDEN)),
    "attn_v": ("self_attn.v_proj", (HIDDEN // 2, HIDDEN)),
    "attn_output": ("self_attn.o_proj", (HIDDEN, HIDDEN)),
    "ffn_norm": ("post_attention_layernorm", (HIDDEN,)),
    "ffn_gate": ("mlp.gate_proj", (MIDDLE, HIDDEN)),
    "ffn_up": ("mlp.up_proj", (MIDDLE, HIDDEN)),
    "ffn_down": ("mlp.down_proj", (HIDDEN, MIDDLE)),
}
Change = Callable[[GGUFWriter], None]


def _weights() -> dict[str, tuple[str, np.ndarray]]:
    """GGUF name → (Hugging Face name, values in the Hugging Face order)."""
    random = np.random.default_rng(5)

    def values(*shape: int) -> np.ndarray:
        return random.standard_normal(shape).astype(np.float32)

    weights = {"token_embd.weight": ("model.embed_tokens.weight", values(len(TOKENS), HIDDEN))}
    for layer in range(LAYERS):
        for name, (hf, shape) in HF_NAMES.items():
            weights[f"blk.{layer}.{name}.weight"] = (f"model.layers.{layer}.{hf}.weight", values(*shape))
    weights["output_norm.weight"] = ("model.norm.weight", values(HIDDEN))
    return weights


def _interleaved(rows: np.ndarray, heads: int) -> np.ndarray:
    """What a GGUF writer does to q and k: row i and row i + half of a head come to lie side by side."""
    result, per_head = np.empty_like(rows), rows.shape[0] // heads
    for head in range(heads):
        for i in range(per_head // 2):
            for half in range(2):
                result[head * per_head + 2 * i + half] = rows[head * per_head + half * (per_head // 2) + i]
    return result


def _settings(writer: GGUFWriter) -> None:
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(MIDDLE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_rope_freq_base(50000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] * len(CONTROL_TOKENS) + [1] * len(VOCABULARY.tokens))
    writer.add_token_merges([f"{a} {b}" for a, b in VOCABULARY.merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(0)
    writer.add_pad_token_id(0)
    writer.add_chat_template("{{ messages[0].content }}<|im_end|>")


def _nothing(writer: GGUFWriter) -> None:
    """No change."""


def _write(
    path: Path,
    kind: GGMLQuantizationType = GGMLQuantizationType.F32,
    change: Change = _nothing,
    edit: Callable[[str, np.ndarray], np.ndarray] = lambda _, values: values,
    architecture: str = "llama",
) -> Path:
    writer = GGUFWriter(path, architecture)
    _settings(writer)
    change(writer)
    for name, (_, values) in _weights().items():
        heads = {"attn_q": HEADS, "attn_k": KV_HEADS}.get(name.split(".")[-2], 0)
        stored = edit(name, _interleaved(values, heads) if heads else values)
        wanted = GGMLQuantizationType.F32 if stored.ndim == 1 else kind
        writer.add_tensor(name, quants.quantize(stored, wanted), raw_dtype=wanted)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_weights_come_back_exactly(tmp_path: Path) -> None:
    convert_gguf(_write(tmp_path / "m.gguf"), tmp_path / "out", "float32")
    found = load_file(tmp_path / "out" / "model.safetensors")
    expected = dict(_weights().values())
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0"])
def test_quantized_weights_are_near(tmp_path: Path, kind: str) -> None:
    convert_gguf(_write(tmp_path / "m.gguf", GGMLQuantizationType[kind]), tmp_path / "out", "float16")
    found = load_file(tmp_path / "out" / "model.safetensors")
    worst = {"F16": 2e-3, "BF16": 2e-2, "Q8_0": 3e-2}.get(kind, 0.5)
    for name, values in dict(_weights().values()).items():
        assert found[name].dtype == np.float16
        assert np.abs(found[name] - values).max() < worst, name


def test_chunks_do_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = _write(tmp_path / "m.gguf", GGMLQuantizationType.Q8_0)
    convert_gguf(source, tmp_path / "whole")
    monkeypatch.setattr("trtmc.checkpoints.gguf_weights.CHUNK_ELEMENTS", HIDDEN * 3)
    convert_gguf(source, tmp_path / "chunks")
    for path in (tmp_path / "whole").iterdir():
        assert path.read_bytes() == (tmp_path / "chunks" / path.name).read_bytes()


def test_configuration(tmp_path: Path) -> None:
    convert_gguf(_write(tmp_path / "m.gguf"), tmp_path / "out")
    config = json.loads((tmp_path / "out" / "config.json").read_text())
    assert config | {} == {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 0,
        "head_dim": 16,
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": MIDDLE,
        "max_position_embeddings": 128,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "num_key_value_heads": KV_HEADS,
        "pad_token_id": 0,
        "rms_norm_eps": 1e-5,
        "rope_theta": 50000.0,
        "tie_word_embeddings": True,
        "torch_dtype": "float16",
        "use_cache": True,
        "vocab_size": len(TOKENS),
    }
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [0, 2]  # the file's own, and the <|im_end|> that the template closes with


def test_tokenizer(tmp_path: Path) -> None:
    convert_gguf(_write(tmp_path / "m.gguf"), tmp_path / "out")
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    text = "<|im_start|>user\nWhat is 1234? é 你好 \U0001f389<|im_end|>"
    ids = tokenizer.encode(text).ids
    assert ids[0] == 1
    assert ids[-1] == 2
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("1234").ids] == ["1", "2", "3", "4"]
    assert tokenizer.decode(ids, skip_special_tokens=False) == text
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert config["eos_token"] == "<|endoftext|>"
    assert config["chat_template"] == "{{ messages[0].content }}<|im_end|>"
    assert config["added_tokens_decoder"]["2"]["content"] == "<|im_end|>"


def test_bos_is_added_when_the_file_says_so(tmp_path: Path) -> None:
    source = _write(tmp_path / "m.gguf", change=lambda writer: writer.add_add_bos_token(True))
    convert_gguf(source, tmp_path / "out")
    tokenizer = Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert tokenizer.encode("a").ids == [1, TOKENS.index("a")]


def _key(key: str, value: int) -> Change:
    return lambda writer: writer.add_uint32(key, value)


def _text(key: str, value: str) -> Change:
    return lambda writer: writer.kv_data[0].pop(key, None) and writer.add_string(key, value)


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (_key("llama.expert_count", 8), "checkpoint.gguf", "llama.expert_count"),
        (_key("llama.rope.dimension_count", 8), "checkpoint.gguf", "llama.rope.dimension_count"),
        (_text("tokenizer.ggml.pre", "llama-bpe"), "checkpoint.tokenizer", "llama-bpe"),
        (_text("tokenizer.ggml.model", "llama"), "checkpoint.tokenizer", "'llama'"),
        (lambda w: w.add_add_space_prefix(True), "checkpoint.tokenizer", "add_space_prefix"),
        (
            lambda w: w.add_tensor("rope_freqs.weight", np.ones(8, np.float32)),
            "checkpoint.unknown_tensor",
            "rope_freqs",
        ),
        (
            lambda w: w.add_tensor("blk.0.attn_q_norm.weight", np.ones(8, np.float32)),
            "checkpoint.unknown_tensor",
            "q_norm",
        ),
    ],
)
def test_what_it_does_not_know_it_refuses_by_name(tmp_path: Path, change: Change, code: str, named: str) -> None:
    source = _write(tmp_path / "m.gguf", change=change)
    with pytest.raises(TrtmcError, match=named) as caught:
        convert_gguf(source, tmp_path / "out")
    assert (caught.value.code, caught.value.exit_code) == (code, ExitCode.UNSUPPORTED)
    assert os.listdir(tmp_path) == ["m.gguf"]


@pytest.mark.parametrize(("value", "code"), [(70000.0, "overflow"), (np.nan, "not_finite"), (np.inf, "not_finite")])
def test_values_that_do_not_fit_are_named(tmp_path: Path, value: float, code: str) -> None:
    def edit(name: str, values: np.ndarray) -> np.ndarray:
        if name == "blk.1.ffn_down.weight":
            values[3, 4] = value
        return values

    source = _write(tmp_path / "m.gguf", edit=edit)
    with pytest.raises(TrtmcError, match=r"blk\.1\.ffn_down\.weight") as caught:
        convert_gguf(source, tmp_path / "out", "float16")
    assert caught.value.code == f"checkpoint.{code}"
    assert os.listdir(tmp_path) == ["m.gguf"]


def test_broken_files(tmp_path: Path) -> None:
    whole = _write(tmp_path / "m.gguf").read_bytes()
    for length in (0, 3, 20, 1000, len(whole) // 2, len(whole) - 100):
        cut = tmp_path / "cut.gguf"
        cut.write_bytes(whole[:length])
        with pytest.raises(TrtmcError, match=r"cut\.gguf") as caught:
            convert_gguf(cut, tmp_path / "out")
        assert (caught.value.code, caught.value.exit_code) == ("checkpoint.gguf", ExitCode.BAD_INPUT)
    with pytest.raises(TrtmcError, match="no file"):
        convert_gguf(tmp_path / "missing.gguf", tmp_path / "out")
    with pytest.raises(TrtmcError, match="'mamba'"):
        convert_gguf(_write(tmp_path / "mamba.gguf", architecture="mamba"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_output_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")
    with pytest.raises(TrtmcError, match="empty folder"):
        convert_gguf(_write(tmp_path / "m.gguf"), tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["mine"]
