"""The narrow formats against the ml_dtypes package: every code, every halfway point, random values, special ones."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from trtmc.testing.oracles.floats import E8M0, FP4, FP8, Format, bfloat16, pack

FORMATS = [(FP8, ml_dtypes.float8_e4m3fn), (FP4, ml_dtypes.float4_e2m1fn), (E8M0, ml_dtypes.float8_e8m0fnu)]


@pytest.mark.parametrize(("form", "rich"), FORMATS)
def test_every_code_decodes_to_the_same_value(form: Format, rich: type) -> None:
    codes = np.arange(len(form.values), dtype=np.uint8)
    theirs = codes.view(rich).astype(np.float32)
    np.testing.assert_array_equal(form.decode(codes), theirs)
    finite = np.isfinite(theirs)
    assert (np.signbit(form.decode(codes)) == np.signbit(theirs))[finite].all()


@pytest.mark.parametrize(("form", "rich"), FORMATS[:2])
def test_encoding_agrees_within_the_range(form: Format, rich: type) -> None:
    finite = np.unique(form.values[np.isfinite(form.values)]).astype(np.float32)
    halves = (finite[1:] + finite[:-1]) / 2
    near = np.concatenate([np.nextafter(halves, np.float32(d)) for d in (-1e9, 1e9)])
    drawn = np.random.default_rng(1).uniform(finite[0], finite[-1], 20000).astype(np.float32)
    small = np.random.default_rng(2).uniform(-0.02, 0.02, 20000).astype(np.float32)
    x = np.concatenate([finite, halves, near, drawn, small, np.array([0.0, -0.0], np.float32)])
    np.testing.assert_array_equal(form.encode(x), x.astype(rich).view(np.uint8))


@pytest.mark.parametrize(("form", "rich"), FORMATS[:2])
def test_encoding_saturates_and_keeps_nan(form: Format, rich: type) -> None:
    x = np.array([1e9, -1e9, np.inf, -np.inf], np.float32)
    largest = form.largest
    assert form.round(x).tolist() == [largest, -largest, largest, -largest]
    nan = np.array([np.nan], np.float32)
    np.testing.assert_array_equal(form.encode(nan) & 0x7F, nan.astype(rich).view(np.uint8) & 0x7F)


def test_powers_of_two_are_exact() -> None:
    x = np.exp2(np.arange(-126.0, 128)).astype(np.float32)
    np.testing.assert_array_equal(E8M0.encode(x), x.astype(ml_dtypes.float8_e8m0fnu).view(np.uint8))


def test_bfloat16() -> None:
    bits = np.random.default_rng(4).integers(0, 0x7F7F0000, 20000, np.uint32)
    halves = bits & np.uint32(0xFFFF0000) | np.uint32(0x8000)
    values = np.concatenate([bits, halves]).view(np.float32)
    np.testing.assert_array_equal(bfloat16(values), values.astype(ml_dtypes.bfloat16).astype(np.float32))


def test_packing() -> None:
    codes = np.array([-8, 7, -1], np.int8)
    assert pack(codes).tolist() == [0x78, 0x0F]
