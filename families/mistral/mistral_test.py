"""Mistral: what its config means, what is refused, and that its network is Llama's without a bias."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from families.mistral import FAMILY
from trtmc.core.build import build_network
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.core.family import for_checkpoint
from trtmc.ops.lowering.text import network_text
from trtmc.testing import tiny_mistral


def read(tmp_path: Path, drop: tuple[str, ...] = (), **edit: Any) -> Any:
    return FAMILY.config(Checkpoint(tiny_mistral(drop=drop, **edit).write(tmp_path)))


def text(folder: Path, **options: Any) -> str:
    return network_text(build_network(folder, "mistral", "llm", **options).network)


def test_owner_of_model_type_mistral(tmp_path: Path) -> None:
    assert for_checkpoint(Checkpoint(tiny_mistral().write(tmp_path))) is FAMILY


def test_defaults_are_those_of_transformers(tmp_path: Path) -> None:
    optional = ("hidden_act", "rms_norm_eps", "tie_word_embeddings", "rope_parameters", "dtype", "sliding_window")
    config = read(tmp_path, drop=(*optional, "max_position_embeddings"))
    assert (config.hidden_act, config.rms_norm_eps, config.rope.theta) == ("silu", 1e-6, 10000.0)
    assert (config.tied, config.dtype, config.max_positions, config.window) == (False, None, 131072, 4096)


@pytest.mark.parametrize(("edit", "expected"), [({"head_dim": None}, 12), ({}, 12), ({"head_dim": 20}, 20)])
def test_head_dim_null_or_absent_is_derived(tmp_path: Path, edit: dict[str, Any], expected: int) -> None:
    assert read(tmp_path, **edit).head_dim == expected


def test_key_value_heads_null_is_all_and_absent_is_eight(tmp_path: Path) -> None:
    wide = {"num_attention_heads": 16, "hidden_size": 64}
    assert read(tmp_path / "null", num_key_value_heads=None, **wide).num_kv_heads == 16
    assert read(tmp_path / "absent", drop=("num_key_value_heads",), **wide).num_kv_heads == 8
    with pytest.raises(BadInput, match=r"must be a multiple of 'num_key_value_heads' \(8\), found 4"):
        read(tmp_path / "few", drop=("num_key_value_heads",))


def test_a_window_that_no_row_reaches_changes_nothing(tmp_path: Path) -> None:
    without = text(tiny_mistral().write(tmp_path / "none"), max_sequence=64)
    assert text(tiny_mistral(sliding_window=64).write(tmp_path / "64"), max_sequence=64) == without


@pytest.mark.parametrize(("options", "rows"), [({"max_sequence": 65}, 65), ({}, 256)])
def test_a_cache_longer_than_the_window_is_refused(tmp_path: Path, options: dict[str, int], rows: int) -> None:
    with pytest.raises(Unsupported) as caught:
        text(tiny_mistral(sliding_window=64).write(tmp_path), **options)
    assert caught.value.code == "limits.sliding_window"
    for piece in ("config.json: 'sliding_window' is 64", f"{rows} rows", "--max-sequence 64"):
        assert piece in caught.value.message


def test_no_biases(tmp_path: Path) -> None:
    assert "/bias" not in text(tiny_mistral().write(tmp_path))


def test_a_bias_is_a_leftover(tmp_path: Path) -> None:
    model = tiny_mistral()
    model.tensors["model.layers.0.self_attn.q_proj.bias"] = model.tensors["model.norm.weight"]
    with pytest.raises(BadInput, match=r"nothing uses tensor 'model\.layers\.0\.self_attn\.q_proj\.bias'"):
        text(model.write(tmp_path))


@pytest.mark.parametrize(
    ("edit", "error", "piece"),
    [
        ({"architectures": ["MistralForSequenceClassification"]}, Unsupported, "'architectures'"),
        ({"attention_bias": True}, Unsupported, "unknown key 'attention_bias'"),
        ({"num_local_experts": 8}, Unsupported, "unknown key 'num_local_experts'"),
        ({"sliding_window": 0}, BadInput, "'sliding_window'"),
        ({"sliding_window": "4096"}, BadInput, "'sliding_window' must be a whole number"),
        ({"hidden_act": "xielu"}, Unsupported, "'hidden_act' is 'xielu'; implemented are"),
    ],
)
def test_refused_by_name(tmp_path: Path, edit: dict[str, Any], error: type[TrtmcError], piece: str) -> None:
    with pytest.raises(error) as caught:
        read(tmp_path, **edit)
    assert piece in caught.value.message
    assert str(tmp_path / "config.json") in caught.value.message
