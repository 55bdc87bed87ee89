"""Model configurations that others got wrong: each small input through the whole product, against the oracle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.e2e.kit.models import Config, tiny, write_config
from tests.e2e.kit.numpy_decoder import NumpyDecoder
from tests.e2e.kit.product import answer, built, inspect, refused
from trtmc.e2e.comparators import compare_logits
from trtmc.e2e.tiny import Weights, write_safetensors

LLAMA3: Mapping[str, Any] = {
    "rope_type": "llama3",
    "factor": 3.7,
    "low_freq_factor": 1.3,
    "high_freq_factor": 2.9,
    "original_max_position_embeddings": 64,
}
ODD_ROPE: Mapping[str, Any] = {"hidden_size": 48, "num_attention_heads": 2, "head_dim": 24}
NORMS = ("input_layernorm", "post_attention_layernorm", "model.norm")


def prompt(length: int, vocab: int = 97) -> list[int]:
    return [int(i) for i in np.random.default_rng(length).integers(0, vocab, length)]


def check_logits(bundle: Path, config: Config, weights: Weights, ids: Sequence[int]) -> NDArray[np.float32]:
    """The bundle's logits agree with the oracle's on every row."""
    logits = answer(bundle).logits(ids)
    expected = NumpyDecoder(config, weights).logits(ids)
    wrong = [m.sentence() for m in compare_logits("logits", expected, logits, 0.99999) if not m.passed]
    assert not wrong
    return logits


def test_cfg_1_llama3_rope_with_factors_nobody_ships(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "llama", rope_scaling=dict(LLAMA3), **ODD_ROPE)
    check_logits(built(tmp_path / "m"), config, weights, prompt(200))


@pytest.mark.parametrize(
    "factor", ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"]
)
def test_cfg_1_the_oracle_tells_each_factor_apart(tmp_path: Path, factor: str) -> None:
    config, weights = tiny(tmp_path / "m", "llama", rope_scaling=dict(LLAMA3), **ODD_ROPE)
    logits = answer(built(tmp_path / "m")).logits(prompt(200))
    other = {**config, "rope_scaling": {**LLAMA3, factor: float(str(LLAMA3[factor])) * 1.25}}
    metrics = compare_logits("logits", NumpyDecoder(other, weights).logits(prompt(200)), logits, 0.99999)
    assert not all(metric.passed for metric in metrics)


def test_cfg_1_a_missing_factor_is_refused_by_name(tmp_path: Path) -> None:
    scaling = {key: value for key, value in LLAMA3.items() if key != "high_freq_factor"}
    tiny(tmp_path / "m", "llama", rope_scaling=scaling, **ODD_ROPE)
    refused(tmp_path / "m", "high_freq_factor", "config.json")


def test_cfg_1_an_unknown_rope_type_is_refused_by_name(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", rope_scaling={"rope_type": "banana"}, **ODD_ROPE)
    refused(tmp_path / "m", "banana", "rope_type", "config.json")


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2"])
def test_cfg_2_head_dim_null_is_derived(tmp_path: Path, model_type: str) -> None:
    config, weights = tiny(tmp_path / "m", model_type, head_dim=None)
    bundle = built(tmp_path / "m")
    check_logits(bundle, config, weights, prompt(20))
    caches = [
        t
        for t in inspect(bundle)["components"][0]["engines"][0]["contract"]["inputs"]
        if t["name"].startswith("k_cache")
    ]
    assert {cache["shape"][-1] for cache in caches} == {12}


def test_cfg_2_qwen3_refuses_a_null_head_dim(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "qwen3")
    write_config(tmp_path / "m", {**config, "head_dim": None})
    refused(tmp_path / "m", "head_dim", "config.json")
    del weights


def test_cfg_3_untied_model_without_lm_head(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", change=lambda weights: weights.__delitem__("lm_head.weight"))
    refused(tmp_path / "m", "lm_head.weight", "tie_word_embeddings")


@pytest.mark.parametrize("model_type", ["llama", "qwen3"])
def test_cfg_4_rope_parameters_only(tmp_path: Path, model_type: str) -> None:
    new = {"rope_type": "default", "rope_theta": 500000.0}
    config, weights = tiny(tmp_path / "new", model_type, drop=["rope_theta"], rope_parameters=new)
    tiny(tmp_path / "old", model_type, rope_theta=500000.0)
    ids = prompt(120)
    logits = check_logits(built(tmp_path / "new"), config, weights, ids)
    assert np.array_equal(logits, answer(built(tmp_path / "old")).logits(ids))
    sections = [inspect(built(tmp_path / name))["sections"] for name in ("new", "old")]
    engines = [[s["sha256"] for s in part if "engine" in s["name"]] for part in sections]
    assert engines[0] == engines[1] != []


def test_cfg_4_theta_matters_in_this_test(tmp_path: Path) -> None:
    tiny(tmp_path / "a", "llama", rope_theta=500000.0)
    tiny(tmp_path / "b", "llama", rope_theta=10000.0)
    logits = [answer(built(tmp_path / name)).logits(prompt(120)) for name in "ab"]
    assert np.abs(logits[0] - logits[1]).max() > 0.1


def test_cfg_5_use_sliding_window_false_beside_a_number(tmp_path: Path) -> None:
    off: dict[str, Any] = {"use_sliding_window": False, "max_window_layers": 0}
    config, weights = tiny(tmp_path / "number", "qwen2", sliding_window=8, **off)
    tiny(tmp_path / "null", "qwen2", sliding_window=None, **off)
    ids = prompt(40)
    logits = check_logits(built(tmp_path / "number"), config, weights, ids)
    assert np.array_equal(logits, answer(built(tmp_path / "null")).logits(ids))
    assert "window" not in str(inspect(built(tmp_path / "number"))["components"])


def test_cfg_5_a_window_that_is_switched_on_is_refused_by_name(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "qwen2", use_sliding_window=True, sliding_window=8, max_window_layers=0)
    refused(tmp_path / "m", "sliding_window", "config.json")


def test_cfg_6_all_seven_biases_count(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "llama", attention_bias=True, mlp_bias=True)
    names = [name for name in weights if name.endswith(".bias") and ".0." in name]
    assert len(names) == 7
    ids = prompt(30)
    logits = check_logits(built(tmp_path / "m"), config, weights, ids)
    for name in names:
        without = {**weights, name: np.zeros_like(weights[name])}
        metrics = compare_logits("logits", NumpyDecoder(config, without).logits(ids), logits, 0.99999)
        # A bias of k shifts every score of a query alike, so softmax hardly sees it without rotation; here it does.
        assert not all(metric.passed for metric in metrics), f"{name} makes no difference"


def test_cfg_6_a_bias_that_nothing_consumes_is_an_error(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "llama", attention_bias=True)
    write_config(tmp_path / "m", {**config, "attention_bias": False})
    refused(tmp_path / "m", "self_attn.q_proj.bias")
    del weights


def test_cfg_6_qwen2_has_biases_on_q_k_v_and_none_on_o(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "qwen2")
    check_logits(built(tmp_path / "m"), config, weights, prompt(30))
    extra = {**weights, "model.layers.0.self_attn.o_proj.bias": np.ones(48, np.float32)}
    write_safetensors(tmp_path / "m" / "model.safetensors", extra)
    refused(tmp_path / "m", "model.layers.0.self_attn.o_proj.bias")


def louder_mlp(weights: Weights) -> None:
    """Makes the variants of an activation separate."""
    for name, values in weights.items():
        if ".mlp." in name:
            values *= np.float32(3.0)


@pytest.mark.parametrize("act", ["silu", "gelu", "gelu_pytorch_tanh", "relu", "mish", "quick_gelu"])
def test_cfg_7_hidden_act_other_than_silu(tmp_path: Path, act: str) -> None:
    config, weights = tiny(tmp_path / "m", "llama", hidden_act=act, change=louder_mlp)
    check_logits(built(tmp_path / "m"), config, weights, prompt(24))


def test_cfg_7_the_two_gelus_differ(tmp_path: Path) -> None:
    logits = []
    for act in ("gelu", "gelu_pytorch_tanh"):
        tiny(tmp_path / act, "llama", hidden_act=act, change=louder_mlp)
        logits.append(answer(built(tmp_path / act)).logits(prompt(24)))
    assert np.abs(logits[0] - logits[1]).max() > 1e-3


def test_cfg_7_an_activation_that_nobody_knows_is_refused_by_name(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", hidden_act="swiglu", change=louder_mlp)
    refused(tmp_path / "m", "swiglu", "hidden_act")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"torch_dtype": "bfloat16"}, "bf16"),
        ({"dtype": "bfloat16", "torch_dtype": "float16"}, "bf16"),
        ({}, "fp32"),
    ],
    ids=["torch_dtype", "both", "neither"],
)
def test_cfg_8_dtype_keys_choose_the_precision(tmp_path: Path, keys: dict[str, Any], expected: str) -> None:
    tiny(tmp_path / "m", "llama", **keys)
    header = inspect(built(tmp_path / "m"))
    assert header["components"][0]["engines"][0]["options"]["precision"] == expected


def test_cfg_8_an_explicit_precision_beats_all(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", dtype="bfloat16", torch_dtype="float16")
    header = inspect(built(tmp_path / "m", "--precision", "fp32"))
    assert header["components"][0]["engines"][0]["options"]["precision"] == "fp32"
