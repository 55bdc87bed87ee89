"""Rounding against a slow reference, and every refusal with tensor, value and index."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, Unsupported
from trtmc.core.precision import Precision, check_finite, convert, to_float32


def slow_bf16(value: float) -> int:
    """Nearest bfloat16 by comparing the two neighbours exactly; ties to even."""
    low = int(np.float32(value).view(np.uint32)) >> 16
    candidates = [low, low + 1]
    exact = [float(np.uint32(c << 16).view(np.float32)) for c in candidates]
    distances = [abs(value - e) for e in exact]
    if distances[0] == distances[1]:
        return candidates[candidates[0] % 2]
    return candidates[int(distances[1] < distances[0])]


def test_bfloat16_rounds_to_nearest_even() -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 0x7F000000, 2000, dtype=np.uint32)
    ties = (rng.integers(0, 0x7F00, 500, dtype=np.uint32) << 16) | np.uint32(0x8000)
    values = np.concatenate([bits, ties]).view(np.float32)
    got = convert(values, DType.F32, DType.BF16, "w")
    assert got.tolist() == [slow_bf16(float(v)) for v in values]


def test_widening_is_exact_and_narrowing_back_gives_the_same_bits() -> None:
    bits = np.arange(0x7C00, dtype=np.uint16)
    half = bits.view(np.float16)
    wide = convert(half, DType.F16, DType.F32, "w")
    assert np.array_equal(convert(wide, DType.F32, DType.F16, "w").view(np.uint16), bits)
    brain = np.arange(0x7F80, dtype=np.uint16)
    assert np.array_equal(convert(to_float32(brain, DType.BF16), DType.F32, DType.BF16, "w"), brain)


def test_no_change_is_no_copy() -> None:
    values = np.ones(3, np.float32)
    assert convert(values, DType.F32, DType.F32, "w") is values


def test_overflow_beyond_the_first_chunk_names_the_place() -> None:
    values = np.zeros((3, 1 << 17), np.float32)
    values[2, 17] = -70000.0
    with pytest.raises(BadInput) as caught:
        convert(values, DType.F32, DType.F16, "model.layers.1.mlp.down_proj.weight")
    assert caught.value.code == "weights.overflow"
    for piece in ("'model.layers.1.mlp.down_proj.weight'", "-70000", "[2, 17]", "float16", "BF16 or FP32"):
        assert piece in caught.value.message


@pytest.mark.parametrize("value", [70000.0, 65536.0, 65520.0])
def test_values_that_round_to_infinity_in_half(value: float) -> None:
    with pytest.raises(BadInput, match="does not fit float16"):
        convert(np.float32([1.0, value]), DType.F32, DType.F16, "w")


def test_largest_half_values_fit() -> None:
    assert convert(np.float32([65504.0, 65519.0]), DType.F32, DType.F16, "w").tolist() == [65504.0, 65504.0]


def test_overflow_of_bfloat16_offers_fp32_only() -> None:
    with pytest.raises(BadInput) as caught:
        convert(np.float32([3.4e38]), DType.F32, DType.BF16, "w")
    assert "build with precision FP32" in caught.value.message


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
@pytest.mark.parametrize(("value", "word"), [(math.nan, "NaN"), (math.inf, "an infinity"), (-math.inf, "an infinity")])
def test_not_finite(dtype: DType, value: float, word: str) -> None:
    values = np.zeros((2, 5), np.float32)
    values[1, 3] = value
    stored = (values.view(np.uint32) >> 16).astype(np.uint16) if dtype is DType.BF16 else values.astype(dtype.storage)
    with pytest.raises(BadInput) as caught:
        check_finite(stored, dtype, "w")
    assert caught.value.code == "weights.not_finite"
    assert f"tensor 'w' holds {word} at index [1, 3]" in caught.value.message


def test_finite_passes() -> None:
    check_finite(np.float32([np.finfo(np.float32).max, -0.0]), DType.F32, "w")
    check_finite(np.zeros((0, 4), np.float16), DType.F16, "w")


def test_other_types_are_refused() -> None:
    with pytest.raises(Unsupported, match="tensor 'w' is stored as int8"):
        check_finite(np.zeros(1, np.int8), DType.I8, "w")


def test_precision_names() -> None:
    assert [p.value for p in Precision] == ["auto", "fp32", "fp16", "bf16"]
    assert all(Precision.of(p.dtype) is p for p in Precision if p is not Precision.AUTO)
    with pytest.raises(ValueError, match="auto"):
        _ = Precision.AUTO.dtype


def test_every_half_widens_as_numpy_says() -> None:
    bits = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16)
    got, expected = to_float32(bits.view(np.float16), DType.F16), bits.view(np.float16).astype(np.float32)
    finite = np.isfinite(expected)
    assert np.array_equal(got.view(np.uint32)[finite], expected.view(np.uint32)[finite])
    assert np.array_equal(np.isnan(got), np.isnan(expected)) and np.array_equal(np.isinf(got), np.isinf(expected))
