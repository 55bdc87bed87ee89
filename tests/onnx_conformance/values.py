"""ONNX's values as the arrays that a run takes and gives, and the comparison of two results.

A run holds bfloat16, float8 and four-bit values as unsigned integers; ONNX's cases have numpy types of the ml_dtypes
package for them. Knows nothing about networks.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from trtmc.core.contract import TensorSpec
from trtmc.core.dtype import DType

_RICH = {
    DType.BF16: ml_dtypes.bfloat16,
    DType.F8_E4M3: ml_dtypes.float8_e4m3fn,
    DType.F8_E8M0: ml_dtypes.float8_e8m0fnu,
    DType.F4_E2M1: ml_dtypes.float4_e2m1fn,
    DType.I4: ml_dtypes.int4,
}


def array_of(value: Any) -> np.ndarray:
    """A case's value as an array."""
    if hasattr(value, "SerializeToString"):
        import onnx.numpy_helper

        return onnx.numpy_helper.to_array(value)
    return np.asarray(value)


def stored(value: np.ndarray, spec: TensorSpec) -> np.ndarray:
    """A case's input as the network takes it; TensorRT's parser makes float32 of float64."""
    if spec.dtype.bits < 8:
        return packed(value)
    if spec.dtype in _RICH:
        return value.view(spec.dtype.storage)
    return value.astype(spec.dtype.storage)


def packed(value: np.ndarray) -> np.ndarray:
    """Four-bit values two to a byte, the first in the low half."""
    codes = value.reshape(-1).view(np.uint8) & 15
    codes = np.append(codes, np.zeros(codes.size % 2, np.uint8))
    return codes[0::2] | codes[1::2] << 4


def unpacked(raw: np.ndarray, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
    """The reverse, as an array of the rich type."""
    codes = np.stack([raw & 15, raw >> 4], -1).reshape(-1)[: int(np.prod(shape))]
    if dtype is DType.I4:
        return ((codes.astype(np.int8) ^ 8) - 8).astype(ml_dtypes.int4).reshape(shape)
    return codes.view(_RICH[dtype]).reshape(shape)


def rich(found: np.ndarray, spec: TensorSpec, shape: tuple[int, ...]) -> np.ndarray:
    """A run's output with a type that says what it holds; `shape` is what packed values are expected to have."""
    if spec.dtype.bits < 8:
        return unpacked(found, spec.dtype, shape)
    return found.view(_RICH[spec.dtype]) if spec.dtype in _RICH else found


def difference(found: np.ndarray, expected: np.ndarray, rtol: float, atol: float) -> str:
    """Empty if they agree as ONNX's own runner wants it, types aside."""
    if found.shape != expected.shape:
        return f"shape {list(found.shape)}, expected {list(expected.shape)}"
    if expected.dtype == ml_dtypes.bfloat16:
        rtol = max(rtol, 2.0**-6)  # two units in the last place, as that runner has it
    if expected.dtype.kind in "biu" and found.dtype == expected.dtype:
        same = np.array_equal(found, expected)
    else:
        a, b = (v if v.dtype.kind in "biuf" else v.astype(np.float32) for v in (found, expected))
        same = np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    if same:
        return ""
    with np.errstate(all="ignore"):
        most = np.nanmax(np.abs(found.astype(np.float64) - expected.astype(np.float64)))
    first = ", ".join(f"{v}" for v in found.reshape(-1)[:4])
    return f"differs by up to {most:.4g}; found {first}, expected {', '.join(f'{v}' for v in expected.reshape(-1)[:4])}"
