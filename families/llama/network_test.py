"""Llama's weights and network: what is loaded, what is refused, and the exact layers, by text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from trtmc.core.build import NetworkBuild, build_network
from trtmc.core.errors import BadInput, UsageError
from trtmc.ops.lowering.text import network_text
from trtmc.testing import Tiny, tiny_llama
from trtmc.testing.golden import check_golden

DOWN = "model.layers.1.mlp.down_proj.weight"


def build(folder: Path, **options: Any) -> NetworkBuild:
    return build_network(folder, "llama", "llm", **options)


def refused(folder: Path, **options: Any) -> BadInput:
    with pytest.raises(BadInput) as caught:
        build(folder, **options)
    return caught.value


def layer_names(text: str) -> list[str]:
    return [line.rsplit("# ", 1)[1] for line in text.splitlines() if "# " in line]


def test_contract(tmp_path: Path) -> None:
    contract = build(tiny_llama().write(tmp_path), max_sequence=64, max_batch=3, precision="bf16").contract.to_json()
    cache = {"dtype": "bfloat16", "shape": ["batch", 2, 64, 12]}
    assert contract["inputs"][:6] == [
        {"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]},
        {"name": "position_ids", "dtype": "int64", "shape": ["batch", "sequence"]},
        {"name": "write_indices", "dtype": "int32", "shape": ["batch"]},
        {"name": "kv_lengths", "dtype": "int32", "shape": ["batch"]},
        {"name": "logit_rows", "dtype": "int64", "shape": ["rows"]},
        {"name": "k_cache_0", **cache},
    ]
    assert contract["outputs"][0] == {"name": "logits", "dtype": "float32", "shape": ["rows", 97]}
    assert contract["outputs"][4] == {"name": "v_out_1", **cache}
    assert contract["state"][3] == {"input": "v_cache_1", "output": "v_out_1"}
    assert contract["limits"] == {"max_batch": 3, "max_sequence": 64}
    assert contract["report"]["precision"] == "bf16" and contract["report"]["weights"] == "embedded"


def test_same_input_gives_the_same_network(tmp_path: Path) -> None:
    first = network_text(build(tiny_llama().write(tmp_path / "a")).network)
    second = network_text(build(tiny_llama().write_sharded(tmp_path / "b")).network)
    assert first == second


def test_both_rope_spellings_give_the_same_network(tmp_path: Path) -> None:
    new = tiny_llama(rope_parameters={"rope_type": "default", "rope_theta": 500000.0}).write(tmp_path / "new")
    old = tiny_llama(drop=["rope_parameters"], rope_theta=500000.0).write(tmp_path / "old")
    other = tiny_llama(drop=["rope_parameters"]).write(tmp_path / "other")
    assert network_text(build(new).network) == network_text(build(old).network)
    assert network_text(build(new).network) != network_text(build(other).network)


def test_null_head_dim_gives_the_same_network(tmp_path: Path) -> None:
    null, absent = tiny_llama(head_dim=None).write(tmp_path / "null"), tiny_llama().write(tmp_path / "absent")
    assert network_text(build(null).network) == network_text(build(absent).network)


@pytest.mark.parametrize(
    ("act", "layers"),
    [
        ("silu", ["sigmoid", "mul"]),
        ("gelu", ["gelu_erf"]),
        ("gelu_pytorch_tanh", ["gelu_tanh"]),
        ("relu", ["relu"]),
        ("mish", ["softplus", "tanh", "mul"]),
    ],
)
def test_activation_of_the_config(tmp_path: Path, act: str, layers: list[str]) -> None:
    names = layer_names(network_text(build(tiny_llama(hidden_act=act).write(tmp_path)).network))
    prefix = f"model.layers.0.mlp.hidden_act={act}/"
    assert [name.removeprefix(prefix) for name in names if name.startswith(prefix)] == layers


def test_all_seven_biases(tmp_path: Path) -> None:
    model = tiny_llama(attention_bias=True, mlp_bias=True).write(tmp_path)
    names = layer_names(network_text(build(model).network))
    added = [name for name in names if name.startswith("model.layers.1.") and name.endswith("/bias")]
    assert len(added) == 7


def test_bias_that_nothing_consumes(tmp_path: Path) -> None:
    model = tiny_llama(attention_bias=True)
    model.config["attention_bias"] = False
    error = refused(model.write(tmp_path))
    assert error.code == "weights.unused_tensor"
    assert "'model.layers.0.self_attn.k_proj.bias'" in error.message


def test_untied_without_head(tmp_path: Path) -> None:
    error = refused(tiny_llama().write(tmp_path, drop=["lm_head.weight"]))
    assert error.code == "weights.missing_tensor"
    assert "'lm_head.weight'" in error.message and "'tie_word_embeddings' is false" in error.message


def test_tied_head_is_one_constant(tmp_path: Path) -> None:
    tied, untied = tiny_llama(tie_word_embeddings=True), tiny_llama()
    tied_build, untied_build = build(tied.write(tmp_path / "t")), build(untied.write(tmp_path / "u"))
    names = layer_names(network_text(tied_build.network))
    assert "weight:model.embed_tokens.weight" in names and "weight:lm_head.weight" not in names
    saved = untied_build.report.facts["constant_bytes"] - tied_build.report.facts["constant_bytes"]
    assert saved == 97 * 48 * 4


def stored_head(tied: Tiny, same: bool) -> Tiny:
    tied.tensors["lm_head.weight"] = tied.tensors["model.embed_tokens.weight"].copy()
    if not same:
        tied.tensors["lm_head.weight"][3, 4] += 1
    return tied


def test_tied_with_a_stored_copy(tmp_path: Path) -> None:
    build(stored_head(tiny_llama(tie_word_embeddings=True), same=True).write(tmp_path / "same"))
    error = refused(stored_head(tiny_llama(tie_word_embeddings=True), same=False).write(tmp_path / "other"))
    assert error.code == "weights.tied_mismatch"


def test_old_frequency_buffers_are_ignored(tmp_path: Path) -> None:
    model = tiny_llama()
    model.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = model.tensors["model.norm.weight"][:6]
    build(model.write(tmp_path))


def test_wrong_shape_names_both_sides(tmp_path: Path) -> None:
    model = tiny_llama()
    model.tensors[DOWN] = model.tensors[DOWN].T.copy()
    error = refused(model.write(tmp_path))
    assert f"tensor '{DOWN}' has shape [80, 48], but the config asks for [48, 80]" in error.message


@pytest.mark.parametrize("value", [70000.0, 65519.0])
def test_bfloat16_weights_that_do_not_fit_half(tmp_path: Path, value: float) -> None:
    model = tiny_llama(dtype="bfloat16")
    model.tensors[DOWN][5, 7] = value
    folder = model.write(tmp_path, dtype="BF16")
    error = refused(folder, precision="fp16")
    stored = {70000.0: "70144", 65519.0: "65536"}[value]
    for piece in (f"'{DOWN}'", stored, "[5, 7]", "BF16 or FP32"):
        assert piece in error.message
    assert build(folder).dtype.value == "bfloat16"
    assert build(folder, precision="fp32").dtype.value == "float32"


def test_not_a_number_in_the_weights(tmp_path: Path) -> None:
    model = tiny_llama()
    model.tensors[DOWN][0, 1] = float("nan")
    assert f"tensor '{DOWN}' holds NaN at index [0, 1]" in refused(model.write(tmp_path)).message


@pytest.mark.parametrize(
    ("config_dtype", "stored", "precision", "expected"),
    [
        ("bfloat16", "F32", "auto", "bfloat16"),
        (None, "F16", "auto", "float16"),
        ("bfloat16", "BF16", "fp32", "float32"),
    ],
)
def test_precision(tmp_path: Path, config_dtype: str | None, stored: str, precision: str, expected: str) -> None:
    folder = tiny_llama(dtype=config_dtype).write(tmp_path, dtype=stored)
    assert build(folder, precision=precision).dtype.value == expected


def test_half_precision_norms_in_float32(tmp_path: Path) -> None:
    text = network_text(build(tiny_llama().write(tmp_path), precision="fp16").network)
    norm = [line for line in text.splitlines() if "# model.layers.0.input_layernorm/" in line]
    kinds = [line.split(" = ")[1].split("(")[0] for line in norm]
    types = [line.split(" : ")[1].split("[")[0] for line in norm]
    assert kinds == ["CAST", "ELEMENTWISE", "REDUCE", "ELEMENTWISE", "UNARY", "ELEMENTWISE", "CAST", "ELEMENTWISE"]
    assert types == ["float32"] * 6 + ["float16"] * 2


@pytest.mark.parametrize(("limit", "value"), [("max_sequence", 257), ("max_sequence", 0), ("max_batch", 0)])
def test_limits(tmp_path: Path, limit: str, value: int) -> None:
    with pytest.raises(UsageError) as caught:
        build(tiny_llama().write(tmp_path), **{limit: value})
    assert caught.value.code == f"limits.{limit}"


def test_golden_network(tmp_path: Path) -> None:
    """One layer in half precision with every bias: the whole network, line by line."""
    model = tiny_llama(num_hidden_layers=1, attention_bias=True, mlp_bias=True, tie_word_embeddings=True)
    text = network_text(build(model.write(tmp_path), precision="fp16").network, hashes=False)
    check_golden(Path(__file__).parent / "testdata" / "tiny.network.txt", text)
