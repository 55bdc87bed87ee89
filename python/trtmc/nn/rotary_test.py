"""Frequencies against stated figures and an independent reference; both spellings; refusals by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.nn.rope_config import RopeConfig, read_rope_config
from trtmc.nn.rotary import RotaryEmbedding, inverse_frequencies

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 3.7,
    "low_freq_factor": 1.3,
    "high_freq_factor": 2.9,
    "original_max_position_embeddings": 64,
}


def read(**values: Any) -> RopeConfig:
    config = StrictConfig(values, "config.json")
    rope = read_rope_config(config, max_positions=256)
    config.finish()
    return rope


def slow_frequency(rope: RopeConfig, head_dim: int, index: int) -> float:
    """One frequency in double precision, straight from the definition."""
    plain = rope.theta ** (-2 * index / head_dim)
    if rope.kind == "linear":
        return plain / rope.factor
    if rope.kind != "llama3":
        return plain
    wave = 2 * math.pi / plain
    if wave < rope.original_positions / rope.high_freq_factor:
        return plain
    if wave > rope.original_positions / rope.low_freq_factor:
        return plain / rope.factor
    share = (rope.original_positions / wave - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor)
    return (1 - share) * plain / rope.factor + share * plain


def test_llama3_with_factors_nobody_ships() -> None:
    rope = read(rope_theta=10000, rope_scaling=LLAMA3)
    expected = [
        1,
        0.464159,
        0.14612,
        0.027027,
        0.012545,
        0.005823,
        0.002703,
        0.001254,
        0.000582,
        0.00027,
        0.000125,
        5.8e-05,
    ]
    assert np.allclose(inverse_frequencies(rope, 24), expected, rtol=0, atol=6e-7)


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "rope_theta": 10000.0}
YARN_ODD = {
    "rope_type": "yarn",
    "factor": 2.5,
    "original_max_position_embeddings": 40,
    "rope_theta": 500.0,
    "beta_fast": 8.0,
    "beta_slow": 2.0,
    "truncate": False,
    "mscale": 0.7,
    "mscale_all_dim": 1.3,
}


@pytest.mark.parametrize(
    ("block", "frequencies", "attention"),
    [
        (YARN, [1, 0.3771291, 0.1346522, 0.04375, 0.01160397, 0.005386087, 0.0025, 0.001160397], 1.138629436111989),
        (YARN_ODD, [1, 0.4358921, 0.1644378, 0.0845897, 0.05039684, 0.03002542, 0.01788854], 0.9508743010333485),
        ({**YARN, "rope_theta": 1e6, "attention_factor": 0.9}, [1, 0.2371708, 0.05, 0.007905695, 0.0025], 0.9),
    ],
)
def test_yarn_gives_the_figures_of_the_oracle(
    block: dict[str, Any], frequencies: list[float], attention: float
) -> None:
    rope = read(rope_parameters=block)
    assert np.allclose(inverse_frequencies(rope, 24)[: len(frequencies)], frequencies, rtol=1e-6)
    assert rope.attention_factor == pytest.approx(attention, rel=1e-12)
    cos = RotaryEmbedding(rope, 24, 2, DType.F32).cos.array
    assert cos[0, 0] == pytest.approx(attention, rel=1e-6)


def test_yarn_reaches_beyond_the_positions_of_the_config() -> None:
    rope = read(rope_scaling={"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256})
    assert (rope.reach(256), RopeConfig(1.0).reach(256)) == (1024, 256)
    stated = {"type": "yarn", "factor": None, "original_max_position_embeddings": 64}
    assert read(rope_scaling=stated).factor == 4.0


@pytest.mark.parametrize(
    "rope",
    [
        RopeConfig(10000.0),
        RopeConfig(500000.0, "llama3", 8.0, 8192),
        RopeConfig(123.0, "llama3", 2.0, 77, 1.5, 9.0),
        RopeConfig(10000.0, "linear", 4.0),
        RopeConfig(10000.0, "dynamic", 4.0),
    ],
)
def test_against_the_definition(rope: RopeConfig) -> None:
    expected = [slow_frequency(rope, 64, index) for index in range(32)]
    assert np.allclose(inverse_frequencies(rope, 64), expected, rtol=1e-5)


def test_both_spellings_mean_the_same() -> None:
    new = read(rope_parameters={**LLAMA3, "rope_theta": 500000.0})
    old = read(rope_theta=500000.0, rope_scaling={**LLAMA3, "type": "llama3"})
    assert new == old
    plain = read(rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    assert plain == read(rope_theta=500000.0) == read(rope_theta=500000, rope_scaling=None)
    assert inverse_frequencies(plain, 12)[1] == pytest.approx(0.112246, abs=1e-6)


def test_theta_defaults_to_10000() -> None:
    assert read().theta == read(rope_parameters={"rope_type": "default"}).theta == 10000.0


def test_llama3_starts_from_max_positions_if_not_told() -> None:
    scaling = {key: value for key, value in LLAMA3.items() if key != "original_max_position_embeddings"}
    assert read(rope_scaling=scaling).original_positions == 256


@pytest.mark.parametrize(
    ("values", "error", "piece"),
    [
        ({"rope_scaling": {**LLAMA3, "rope_type": "banana"}}, Unsupported, "'rope_scaling.rope_type' is 'banana'"),
        ({"rope_scaling": {"type": "su", "factor": 4.0}}, Unsupported, "'rope_scaling.type' is 'su'"),
        ({"rope_scaling": {**YARN, "short_factor": [1]}}, Unsupported, "'rope_scaling.short_factor'"),
        ({"rope_scaling": {**YARN, "beta_fast": 0}}, BadInput, "'rope_scaling.beta_fast' must be greater"),
        ({"rope_scaling": {"type": "yarn"}}, BadInput, "'rope_scaling.factor' is missing"),
        ({"rope_parameters": {"rope_type": "longrope"}}, Unsupported, "'rope_parameters.rope_type' is 'longrope'"),
        (
            {"rope_scaling": {k: v for k, v in LLAMA3.items() if k != "high_freq_factor"}},
            BadInput,
            "'rope_scaling.high_freq_factor' is missing",
        ),
        ({"rope_scaling": {**LLAMA3, "high_freq_factor": 1.0}}, BadInput, "must be greater than 'low_freq_factor'"),
        ({"rope_scaling": {**LLAMA3, "mscale": 1.0}}, Unsupported, "unknown key 'rope_scaling.mscale'"),
        ({"rope_scaling": {"type": "linear"}}, BadInput, "'rope_scaling.factor' is missing"),
        ({"rope_scaling": {"type": "linear", "factor": 0}}, BadInput, "'rope_scaling.factor' must be greater than 0"),
        ({"rope_scaling": {"type": "linear", "rope_type": "llama3"}}, BadInput, "keep one"),
        ({"rope_theta": 0}, BadInput, "'rope_theta' must be greater than 0"),
        ({"rope_theta": 1, "rope_parameters": {"rope_theta": 2}}, BadInput, "'rope_parameters.rope_theta' is 2"),
        ({"rope_parameters": {"rope_theta": 2}, "rope_scaling": LLAMA3}, Unsupported, "stands next to"),
        ({"rope_parameters": {"partial_rotary_factor": 0.5}}, Unsupported, "partial_rotary_factor' is 0.5"),
        ({"partial_rotary_factor": 0.5}, Unsupported, "'partial_rotary_factor' is 0.5"),
        ({"rope_parameters": {"full_attention": {"rope_type": "default"}}}, Unsupported, "full_attention"),
        (
            {"rope_scaling": {"type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 64}},
            Unsupported,
            "is 64",
        ),
    ],
)
def test_refused_by_name(values: dict[str, Any], error: type[TrtmcError], piece: str) -> None:
    with pytest.raises(error) as caught:
        read(**values)
    assert piece in caught.value.message and "config.json" in caught.value.message


def test_tables() -> None:
    rotary = RotaryEmbedding(RopeConfig(10000.0), head_dim=8, positions=5, dtype=DType.F32)
    assert rotary.cos.shape == rotary.sin.shape == (5, 4)
    angles = [[p * 10000.0 ** (-i / 4) for i in range(4)] for p in range(5)]
    assert np.allclose(rotary.cos.array, np.cos(angles), atol=1e-6)
    assert np.allclose(rotary.sin.array, np.sin(angles), atol=1e-6)
    assert RotaryEmbedding(RopeConfig(10000.0), 8, 5, DType.BF16).cos.array.dtype == np.uint16
