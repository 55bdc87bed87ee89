"""Exact conversions between float32, float16 and bfloat16, and the checks that keep them honest.

Weights must be finite (NaN and infinity are refused), and a narrowing that would turn a finite value into infinity is
an error that names the tensor, the value and its index. Values too small for the narrow type round to nearest as
usual. Works in chunks, so a conversion needs no second full-size temporary. Knows arrays, not files or models.

    >>> import numpy as np
    >>> convert(np.float32([1.0, 2.5]), DType.F32, DType.BF16, "w").tolist()
    [16256, 16416]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import numpy as np

from trtmc.core.dtype import COMPUTE_DTYPES, DType
from trtmc.core.errors import BadInput, Unsupported

_CHUNK = 1 << 17  # elements; temporaries stay in the cache


class Precision(Enum):
    """What a user may ask for; AUTO follows the checkpoint."""

    AUTO = "auto"
    FP32 = "fp32"
    FP16 = "fp16"
    BF16 = "bf16"

    @property
    def dtype(self) -> DType:
        """The compute type; AUTO has none until a checkpoint decides."""
        if self is Precision.AUTO:
            raise ValueError("precision 'auto' has no dtype before a checkpoint was read")
        return {"fp32": DType.F32, "fp16": DType.F16, "bf16": DType.BF16}[self.value]

    @classmethod
    def of(cls, dtype: DType) -> Precision:
        """The precision that computes in `dtype`."""
        return {DType.F32: cls.FP32, DType.F16: cls.FP16, DType.BF16: cls.BF16}[dtype]


STORED_TYPES = ("int8", "int4", "fp8", "fp4")
"""What weights can be stored in on some targets; no family builds such networks yet."""


@dataclass(frozen=True)
class _Format:
    bits: np.dtype  # unsigned view of the element
    magnitude: int  # mask without the sign
    infinity: int  # bits of +infinity; any magnitude at or above is not finite
    largest: float


_FORMATS = {
    DType.F32: _Format(np.dtype("uint32"), 0x7FFFFFFF, 0x7F800000, float(np.finfo(np.float32).max)),
    DType.F16: _Format(np.dtype("uint16"), 0x7FFF, 0x7C00, 65504.0),
    DType.BF16: _Format(np.dtype("uint16"), 0x7FFF, 0x7F80, 3.3895313892515355e38),
}


def check_finite(data: np.ndarray, dtype: DType, name: str) -> None:
    """Refuses NaN and infinity; `data` holds `dtype` in its storage type and may be a memory map."""
    fmt = _format(dtype, name)
    for start, chunk in _chunks(data.reshape(-1).view(fmt.bits)):
        magnitude = chunk & fmt.bits.type(fmt.magnitude)
        if magnitude.max(initial=0) >= fmt.infinity:
            position = start + int(np.argmax(magnitude >= fmt.infinity))
            what = "NaN" if int(magnitude[position - start]) > fmt.infinity else "an infinity"
            index = _index(position, data.shape)
            raise BadInput(
                "weights.not_finite",
                f"tensor '{name}' holds {what} at index {index}; weights must be finite, get an intact checkpoint",
            )


def convert(data: np.ndarray, source: DType, target: DType, name: str) -> np.ndarray:
    """`data` as `target`: the very same array if nothing changes, else a new one rounded to nearest even.

    Raises BadInput "weights.overflow" when a finite value does not fit `target`.
    """
    wide_enough = _format(target, name).largest >= _format(source, name).largest
    if source is target:
        return data
    out = np.empty(data.shape, target.storage)
    flat = out.reshape(-1)
    for start, chunk in _chunks(data.reshape(-1)):
        wide = _widen(chunk, source)
        narrow = _narrow(wide, target)
        if not wide_enough:
            _check_fit(wide, narrow, target, name, start, data.shape)
        flat[start : start + len(chunk)] = narrow
    return out


def check_fits(data: np.ndarray, source: DType, target: DType, name: str) -> None:
    """Raises what `convert` would, and keeps nothing."""
    if _format(target, name).largest >= _format(source, name).largest:
        return
    for start, chunk in _chunks(data.reshape(-1)):
        wide = _widen(chunk, source)
        _check_fit(wide, _narrow(wide, target), target, name, start, data.shape)


def to_float32(data: np.ndarray, dtype: DType) -> np.ndarray:
    """Exact float32 values of an array that holds `dtype` in its storage type."""
    return _widen(data, dtype)


def _widen(data: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype is DType.BF16:
        return (data.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return data.astype(np.float32, copy=False)


def _narrow(wide: np.ndarray, dtype: DType) -> np.ndarray:
    if dtype is DType.BF16:
        bits = np.ascontiguousarray(wide).view(np.uint32)
        return ((bits + (np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1)))) >> np.uint32(16)).astype(
            np.uint16
        )
    with np.errstate(over="ignore"):  # overflow is reported by _check_fit, with the tensor's name
        return wide.astype(dtype.storage, copy=False)


def _check_fit(
    wide: np.ndarray, narrow: np.ndarray, target: DType, name: str, start: int, shape: tuple[int, ...]
) -> None:
    fmt = _FORMATS[target]
    infinite = (narrow.view(fmt.bits) & fmt.bits.type(fmt.magnitude)) >= fmt.infinity
    if not infinite.any():
        return
    position = int(np.argmax(infinite))
    value = float(wide[position])
    if not np.isfinite(value):
        raise BadInput(
            "weights.not_finite",
            f"tensor '{name}' holds {value} at index {_index(start + position, shape)}; weights must be finite",
        )
    ways = " or ".join(p.name for p in (Precision.BF16, Precision.FP32) if _FORMATS[p.dtype].largest >= abs(value))
    raise BadInput(
        "weights.overflow",
        f"tensor '{name}': value {value:.9g} at index {_index(start + position, shape)} does not fit {target} "
        f"(largest is {fmt.largest:.6g}); build with precision {ways}",
    )


def _format(dtype: DType, name: str) -> _Format:
    if dtype not in COMPUTE_DTYPES:
        raise Unsupported(
            "weights.dtype", f"tensor '{name}' is stored as {dtype}; implemented are float32, float16 and bfloat16"
        )
    return _FORMATS[dtype]


def _chunks(flat: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for start in range(0, len(flat), _CHUNK):
        yield start, flat[start : start + _CHUNK]


def _index(position: int, shape: tuple[int, ...]) -> list[int]:
    return [int(i) for i in np.unravel_index(position, shape)] if shape else []
