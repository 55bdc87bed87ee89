"""Quantize, dequantize and dynamic quantize.

output = clamp(round(x / scale) + zero point), ties to even; scales per tensor, per channel (one axis) or per block (one
scale for each block along any axes: the scale's shape divides the input's). Float formats round to their nearest value.
"""

from __future__ import annotations

import numpy as np

from trtmc.testing.oracles.floats import E8M0, FP4, FP8, Format

RANGES = {"int8": (-128, 127), "int4": (-8, 7), "uint8": (0, 255)}
LARGEST = {"fp4": 6.0, "fp8": 448.0, "int8": 127.0}
_FLOATS = {"fp8": FP8, "fp4": FP4}


def spread(scale: np.ndarray, shape: tuple[int, ...], axis: int | None = None) -> np.ndarray:
    """A scale for every element."""
    scale = np.asarray(scale)
    if scale.size == 1:
        return np.broadcast_to(scale.reshape(()), shape)
    if axis is not None:
        return np.broadcast_to(scale.reshape([-1 if i == axis else 1 for i in range(len(shape))]), shape)
    for dim, (size, count) in enumerate(zip(shape, scale.shape, strict=True)):
        scale = np.repeat(scale, size // count, dim)
    return scale


def quantize(
    x: np.ndarray, scale: np.ndarray, kind: str, axis: int | None = None, zero: np.ndarray | int = 0
) -> np.ndarray:
    """Integers for integer kinds, codes for float kinds."""
    ratio = (np.asarray(x, np.float32) / spread(np.asarray(scale, np.float32), x.shape, axis)).astype(np.float32)
    if kind in _FLOATS:
        return _FLOATS[kind].encode(ratio)
    points = spread(np.asarray(zero), x.shape, axis).astype(np.float64)
    return np.clip(np.rint(ratio) + points, *RANGES[kind]).astype(np.int16)


def dequantize(
    q: np.ndarray, scale: np.ndarray, kind: str, axis: int | None = None, zero: np.ndarray | int = 0
) -> np.ndarray:
    """float32."""
    values = _FLOATS[kind].decode(q) if kind in _FLOATS else q.astype(np.float32)
    points = spread(np.asarray(zero), q.shape, axis).astype(np.float32)
    return (values - points) * spread(np.asarray(scale, np.float32), q.shape, axis)


def _largest_by_block(x: np.ndarray, block: tuple[int, ...]) -> np.ndarray:
    inner: list[int] = []
    for size, length in zip(x.shape, block, strict=True):
        inner += [size // length, length]
    return np.abs(x).reshape(inner).max(tuple(range(1, 2 * x.ndim, 2)))


def power_of_two_above(x: np.ndarray) -> np.ndarray:
    """The least power of two that is not below x, between 2**-126 and 2**127."""
    mantissa, exponent = np.frexp(np.maximum(x, 2.0**-126).astype(np.float64))
    return np.exp2(np.minimum(np.where(mantissa == 0.5, exponent - 1, exponent), 127)).astype(np.float32)


def dynamic_quantize(
    x: np.ndarray, block: tuple[int, ...], kind: str, scale_kind: str, second_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantized values, scales as they are stored (codes or float32), and the factor that each element was divided by.

    A block's scale is its greatest magnitude over the type's; stored as float8 over the second scale, to the nearest;
    as a power of two, rounded up; or as it is. Elements are divided by the stored scale; a scale of zero gives zeros.
    """
    x = np.asarray(x, np.float32)
    ideal = (_largest_by_block(x, block) / np.float32(LARGEST[kind])).astype(np.float32)
    stored: np.ndarray
    if scale_kind == "fp8":
        stored = FP8.encode((ideal / np.float32(second_scale)).astype(np.float32))
        used = FP8.decode(stored) * np.float32(second_scale)
    elif scale_kind == "e8m0":
        used = power_of_two_above(ideal)
        stored = E8M0.encode(used)
    else:
        stored = used = ideal
    factor = spread(used, x.shape)
    with np.errstate(all="ignore"):
        ratio = np.where(factor == 0, np.float32(0), x / factor).astype(np.float32)
    form: Format | None = _FLOATS.get(kind)
    q = form.encode(ratio) if form else np.clip(np.rint(ratio), *RANGES[kind]).astype(np.int16)
    return q, stored, factor
