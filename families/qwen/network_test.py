"""Qwen2 and Qwen3: what their configs mean, what is refused, and what the networks are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from families.qwen import FAMILY
from trtmc.core.build import NetworkBuild, build_network
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.core.family import for_checkpoint
from trtmc.ops.lowering.text import network_text
from trtmc.testing import tiny_qwen2, tiny_qwen3
from trtmc.testing.golden import check_golden


def build(folder: Path, **options: Any) -> NetworkBuild:
    return build_network(folder, "qwen", "llm", **options)


def text(folder: Path) -> str:
    return network_text(build(folder).network)


def test_owner_of_both_model_types(tmp_path: Path) -> None:
    for name, model in (("2", tiny_qwen2()), ("3", tiny_qwen3())):
        assert for_checkpoint(Checkpoint(model.write(tmp_path / name))) is FAMILY


def test_qwen2_has_biases_on_q_k_v_only(tmp_path: Path) -> None:
    network = text(tiny_qwen2().write(tmp_path))
    layer = [line.rsplit("# ", 1)[1] for line in network.splitlines() if line.endswith("/bias")]
    assert layer == [f"model.layers.{n}.self_attn.{p}_proj/bias" for n in range(2) for p in "qkv"]


def test_qwen2_output_bias_is_a_leftover(tmp_path: Path) -> None:
    model = tiny_qwen2()
    model.tensors["model.layers.0.self_attn.o_proj.bias"] = model.tensors["model.norm.weight"]
    with pytest.raises(BadInput, match=r"nothing uses tensor 'model\.layers\.0\.self_attn\.o_proj\.bias'"):
        build(model.write(tmp_path))


def test_qwen3_norms_queries_and_keys_before_rotation(tmp_path: Path) -> None:
    network = text(tiny_qwen3().write(tmp_path))
    kinds = [line.rsplit("# ", 1)[1] for line in network.splitlines() if "# model.layers.0.self_attn" in line]
    order = [name for name in kinds if name.endswith(("q_norm/mul_1", "k_norm/mul_1", "/rotary", "/rotary_1"))]
    assert [name.removeprefix("model.layers.0.self_attn") for name in order] == [
        ".q_norm/mul_1",
        ".k_norm/mul_1",
        "/rotary",
        "/rotary_1",
    ]
    assert "float32[batch,2,256,16]" in network


@pytest.mark.parametrize("window", [8, None])
def test_window_that_is_switched_off_changes_nothing(tmp_path: Path, window: int | None) -> None:
    off = {"use_sliding_window": False, "sliding_window": window, "max_window_layers": 0}
    assert text(tiny_qwen2(**off).write(tmp_path / "a")) == text(tiny_qwen2().write(tmp_path / "b"))


def test_window_that_reaches_no_layer(tmp_path: Path) -> None:
    on = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 2}
    assert text(tiny_qwen2(**on).write(tmp_path / "a")) == text(tiny_qwen2().write(tmp_path / "b"))


def test_explicit_full_attention(tmp_path: Path) -> None:
    kinds = {"layer_types": ["full_attention"] * 2}
    assert text(tiny_qwen3(**kinds).write(tmp_path / "a")) == text(tiny_qwen3().write(tmp_path / "b"))


def test_head_dim(tmp_path: Path) -> None:
    assert FAMILY.config(Checkpoint(tiny_qwen2(head_dim=None).write(tmp_path / "null"))).head_dim == 12
    model = tiny_qwen3()
    del model.config["head_dim"]
    assert FAMILY.config(Checkpoint(model.write(tmp_path / "absent"))).head_dim == 128


def test_both_rope_spellings_give_the_same_network(tmp_path: Path) -> None:
    new = tiny_qwen3(rope_parameters={"rope_type": "default", "rope_theta": 500000.0}).write(tmp_path / "new")
    old = tiny_qwen3(drop=["rope_parameters"], rope_theta=500000.0).write(tmp_path / "old")
    assert text(new) == text(old)


def test_tied_head(tmp_path: Path) -> None:
    assert "lm_head.weight" not in text(tiny_qwen3(tie_word_embeddings=True).write(tmp_path))


WINDOW = {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1}


@pytest.mark.parametrize(
    ("model", "edit", "error", "piece"),
    [
        (tiny_qwen2, WINDOW, Unsupported, "'use_sliding_window' is true (window 8 from layer 1 on)"),
        (tiny_qwen3, WINDOW, Unsupported, "'use_sliding_window'"),
        (tiny_qwen2, {"layer_types": ["full_attention", "sliding_attention"]}, Unsupported, "in layer 1"),
        (tiny_qwen2, {"layer_types": ["full_attention"]}, BadInput, "'layer_types' has 1 entries"),
        (tiny_qwen3, {"head_dim": None}, BadInput, "'head_dim' is null"),
        (tiny_qwen3, {"head_dim": 15}, BadInput, "'head_dim' must be even"),
        (tiny_qwen2, {"hidden_size": 50}, BadInput, "'hidden_size' must be a multiple"),
        (tiny_qwen2, {"num_key_value_heads": 3}, BadInput, "'num_key_value_heads' (3)"),
        (tiny_qwen2, {"attention_bias": True}, Unsupported, "unknown key 'attention_bias'"),
        (tiny_qwen2, {"use_mrope": True}, Unsupported, "'use_mrope' is True"),
        (tiny_qwen3, {"num_experts": 8}, Unsupported, "unknown key 'num_experts'"),
        (tiny_qwen2, {"rope_scaling": {"type": "longrope"}, "rope_parameters": None}, Unsupported, "'longrope'"),
    ],
)
def test_refused_by_name(tmp_path: Path, model: Any, edit: dict[str, Any], error: type[TrtmcError], piece: str) -> None:
    tiny = model()
    tiny.config |= edit
    with pytest.raises(error) as caught:
        FAMILY.config(Checkpoint(tiny.write(tmp_path)))
    assert piece in caught.value.message and "config.json" in caught.value.message


def test_keys_seen_in_the_wild(tmp_path: Path) -> None:
    published = {"use_mrope": False, "bos_token_id": 151643, "eos_token_id": 151645, "attention_dropout": 0.0}
    tiny = tiny_qwen2(**published, initializer_range=0.02, rope_scaling=None)
    assert FAMILY.config(Checkpoint(tiny.write(tmp_path))).qkv_bias


def test_absent_key_value_heads(tmp_path: Path) -> None:
    model = tiny_qwen2()
    del model.config["num_key_value_heads"]
    with pytest.raises(BadInput, match="'num_key_value_heads' is missing"):
        FAMILY.config(Checkpoint(model.write(tmp_path)))


def test_golden_network(tmp_path: Path) -> None:
    """One Qwen3 layer in bfloat16: the whole network, line by line."""
    network = build(tiny_qwen3(num_hidden_layers=1).write(tmp_path), precision="bf16").network
    check_golden(Path(__file__).parent / "testdata" / "tiny.network.txt", network_text(network, hashes=False))
