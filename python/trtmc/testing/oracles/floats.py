"""Narrow number formats: values to codes and back, to the nearest with ties to the even code, saturating.

Formats are tables of their values, so that rounding is a search and no bit trick; `floats_test.py` compares every one
with the ml_dtypes package.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Format:
    """`values[code]`; NaN where a code stands for none. `nan` is the code that a NaN gets."""

    name: str
    values: np.ndarray
    nan: int

    @property
    def largest(self) -> float:
        """The greatest finite value."""
        return float(np.nanmax(self.values))

    def decode(self, codes: np.ndarray) -> np.ndarray:
        """float32 values of codes."""
        return self.values[codes].astype(np.float32)

    def encode(self, x: np.ndarray) -> np.ndarray:
        """uint8 codes of the nearest values."""
        codes = np.array([code for code, value in enumerate(self.values) if np.isfinite(value)])
        order = np.lexsort((codes % 2, np.signbit(self.values[codes]), self.values[codes]))
        codes = codes[order]
        known, first = np.unique(self.values[codes], return_index=True)  # of +0 and -0 the positive one
        codes = codes[first]
        wide = np.clip(np.asarray(x, np.float64), known[0], known[-1])
        above = np.clip(np.searchsorted(known, wide), 1, len(known) - 1)
        down, up = wide - known[above - 1], known[above] - wide
        even = codes[above] % 2 == 0
        nearest = np.where((up < down) | ((up == down) & even), codes[above], codes[above - 1])
        negative_zero = (self.values[nearest] == 0) & np.signbit(x) & bool(np.signbit(self.values).any())
        nearest = np.where(negative_zero, self._negative_zero(), nearest)
        return np.where(np.isnan(x), self.nan, nearest).astype(np.uint8)

    def round(self, x: np.ndarray) -> np.ndarray:
        """The nearest values as float32."""
        return self.decode(self.encode(x))

    def _negative_zero(self) -> int:
        found = np.flatnonzero((self.values == 0) & np.signbit(self.values))
        return int(found[0]) if found.size else 0


def _minifloat(exponent_bits: int, fraction_bits: int, bias: int) -> np.ndarray:
    steps = 1 << fraction_bits
    exponents, fractions = np.divmod(np.arange(1 << (exponent_bits + fraction_bits)), steps)
    normal = (1 + fractions / steps) * 2.0 ** (exponents - bias)
    positive = np.where(exponents == 0, fractions / steps * 2.0 ** (1 - bias), normal)
    return np.concatenate([positive, -positive])


def _e4m3() -> np.ndarray:
    values = _minifloat(4, 3, 7)
    values[[0x7F, 0xFF]] = np.nan
    return values


def _e8m0() -> np.ndarray:
    return np.append(2.0 ** (np.arange(255.0) - 127), np.nan)


FP8 = Format("float8_e4m3", _e4m3(), 0x7F)
FP4 = Format("float4_e2m1", _minifloat(2, 1, 1), 0x8)  # has no NaN; ONNX and ml_dtypes make it -0
E8M0 = Format("float8_e8m0", _e8m0(), 0xFF)


def pack(codes: np.ndarray) -> np.ndarray:
    """Four-bit codes two to a byte, the first in the low half; an odd number is filled up with a zero."""
    flat = np.asarray(codes).reshape(-1).astype(np.int16).astype(np.uint8) & 15
    flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
    return flat[0::2] | flat[1::2] << 4


def bfloat16(x: np.ndarray) -> np.ndarray:
    """float32 rounded to bfloat16, as float32; ties to even."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return np.where(np.isnan(x), np.float32(np.nan), rounded.astype(np.uint32).view(np.float32))
