"""Llama's config keys: defaults, bounds, and refusals that name file and key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from families.llama import FAMILY
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.core.family import for_checkpoint
from trtmc.testing import tiny_llama


def read(tmp_path: Path, drop: tuple[str, ...] = (), **edit: Any) -> Any:
    model = tiny_llama()
    model.config = {k: v for k, v in {**model.config, **edit}.items() if k not in drop}
    return FAMILY.config(Checkpoint(model.write(tmp_path)))


def test_owner_of_model_type_llama(tmp_path: Path) -> None:
    assert for_checkpoint(Checkpoint(tiny_llama().write(tmp_path))) is FAMILY


def test_head_dim_null_or_absent_is_derived(tmp_path: Path) -> None:
    assert read(tmp_path / "null", head_dim=None).head_dim == 12
    assert read(tmp_path / "absent").head_dim == 12
    assert read(tmp_path / "explicit", head_dim=20).head_dim == 20


def test_key_value_heads_default_to_all_heads(tmp_path: Path) -> None:
    assert read(tmp_path, drop=("num_key_value_heads",)).num_kv_heads == 4


def test_defaults_are_those_of_transformers(tmp_path: Path) -> None:
    optional = (
        "hidden_act",
        "rms_norm_eps",
        "attention_bias",
        "mlp_bias",
        "tie_word_embeddings",
        "rope_parameters",
        "dtype",
    )
    config = read(tmp_path, drop=optional)
    assert (config.hidden_act, config.rms_norm_eps, config.rope.theta) == ("silu", 1e-6, 10000.0)
    assert (config.attention_bias, config.mlp_bias, config.tied, config.dtype) == (False, False, False, None)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({"torch_dtype": "bfloat16", "dtype": None}, DType.BF16),
        ({"torch_dtype": "float16", "dtype": "bfloat16"}, DType.BF16),
        ({"torch_dtype": "torch.float16", "dtype": None}, DType.F16),
        ({"dtype": None}, None),
    ],
)
def test_dtype_over_torch_dtype(tmp_path: Path, edit: dict[str, Any], expected: DType | None) -> None:
    assert read(tmp_path, **edit).dtype is expected


def test_keys_seen_in_the_wild(tmp_path: Path) -> None:
    read(
        tmp_path,
        _name_or_path="x",
        bos_token_id=1,
        eos_token_id=[2, 3],
        initializer_range=0.02,
        is_llama_config=True,
        pretraining_tp=1,
        rope_interleaved=False,
        **{"transformers.js_config": {"dtype": "q4"}},
    )


@pytest.mark.parametrize(
    ("edit", "error", "piece"),
    [
        ({"model_type": "mamba"}, Unsupported, "'model_type' is 'mamba'"),
        ({"architectures": ["LlamaForSequenceClassification"]}, Unsupported, "'architectures'"),
        ({"quantization_config": {"bits": 4}}, Unsupported, "unknown key 'quantization_config'"),
        ({"auto_map": {}}, Unsupported, "unknown key 'auto_map'"),
        ({"sliding_window": 4096}, Unsupported, "unknown key 'sliding_window'"),
        ({"hidden_act": "xielu"}, Unsupported, "'hidden_act' is 'xielu'; implemented are"),
        ({"pretraining_tp": 2}, Unsupported, "'pretraining_tp' is 2"),
        ({"rope_interleaved": True}, Unsupported, "'rope_interleaved' is True"),
        ({"dtype": "float8_e4m3fn"}, Unsupported, "'dtype' is 'float8_e4m3fn'"),
        ({"hidden_size": "48"}, BadInput, "'hidden_size' must be a whole number"),
        ({"hidden_size": None}, BadInput, "'hidden_size' is null"),
        ({"hidden_size": 50}, BadInput, "'hidden_size' must be a multiple of 'num_attention_heads' (4)"),
        ({"hidden_size": 36}, BadInput, "'head_dim' must be even, found 9 (derived)"),
        ({"head_dim": 7}, BadInput, "'head_dim' must be even, found 7"),
        ({"num_key_value_heads": 3}, BadInput, "must be a multiple of 'num_key_value_heads' (3)"),
        ({"num_hidden_layers": 0}, BadInput, "'num_hidden_layers' must be between 1"),
        ({"rms_norm_eps": 0}, BadInput, "'rms_norm_eps' must be greater than 0"),
        ({"attention_bias": "yes"}, BadInput, "'attention_bias' must be true or false"),
    ],
)
def test_refused_by_name(tmp_path: Path, edit: dict[str, Any], error: type[TrtmcError], piece: str) -> None:
    with pytest.raises(error) as caught:
        read(tmp_path, **edit)
    assert piece in caught.value.message
    assert str(tmp_path / "config.json") in caught.value.message


def test_unknown_model_type_lists_what_there_is(tmp_path: Path) -> None:
    model = tiny_llama()
    model.config["model_type"] = "mamba"
    with pytest.raises(Unsupported, match=r"which no family implements; implemented are .*llama") as caught:
        for_checkpoint(Checkpoint(model.write(tmp_path)))
    assert caught.value.code == "config.model_type"
