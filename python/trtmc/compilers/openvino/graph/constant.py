"""Constant data: a dtype, a shape and a view of bytes that somebody else owns.

The bytes are usually pages of the checkpoint's mmap: nothing here copies them. Knows no layer and no compiler.

    ConstantData.of(np.ones((2, 3), np.float32)).as_float32().sum()      # 6.0
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np

from trtmc.core.dtype import COMPUTE_DTYPES, DType
from trtmc.core.errors import Unsupported

INTEGER_DTYPES = (DType.I64, DType.I32, DType.I8, DType.U8)
"""Types that hold indices and counts."""

NUMPY_DTYPES = {
    np.dtype(np.float32): DType.F32,
    np.dtype(np.float16): DType.F16,
    np.dtype(np.int64): DType.I64,
    np.dtype(np.int32): DType.I32,
    np.dtype(np.int8): DType.I8,
    np.dtype(np.uint8): DType.U8,
    np.dtype(np.bool_): DType.BOOL,
}
"""The element type of a plain numpy array."""


def storage_bytes(dtype: DType, count: int) -> int:
    """Bytes that `count` elements take; sub-byte types are packed and rounded up."""
    return (count * dtype.bits + 7) // 8


@dataclass(frozen=True, eq=False)
class ConstantData:
    """`raw` is a flat uint8 array that aliases the owner's memory (and keeps a numpy owner alive).

    One with an `external` description ("float16.512x256:lm_head.weight", which no reshape changes) stands outside of
    the engine: it has a type and a shape, and values at run time only.
    """

    dtype: DType
    shape: tuple[int, ...]
    raw: np.ndarray
    external: str | None = None

    def __post_init__(self) -> None:
        expected = storage_bytes(self.dtype, prod(self.shape))
        if self.external is None and self.raw.nbytes != expected:
            raise ValueError(
                f"constant of {self.dtype.value} {list(self.shape)} needs {expected} bytes, got {self.raw.nbytes}"
            )

    @classmethod
    def of(cls, array: np.ndarray) -> ConstantData:
        """Wraps a numpy array of a plain type; copies only if it is not contiguous."""
        array = np.asarray(array)
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return cls(NUMPY_DTYPES[array.dtype], tuple(array.shape), flat)

    @classmethod
    def outside(cls, name: str, dtype: DType, shape: tuple[int, ...]) -> ConstantData:
        """One whose bytes come to the engine by name when it is loaded."""
        return cls(dtype, shape, np.empty(0, np.uint8), f"{dtype.value}.{'x'.join(map(str, shape))}:{name}")

    @cached_property
    def address(self) -> Hashable:
        """Where the bytes are; two constants over the same bytes share one copy in an engine."""
        return int(self.raw.ctypes.data) if self.external is None else self.external

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of storage."""
        return storage_bytes(self.dtype, self.size)

    def reshape(self, shape: tuple[int, ...]) -> ConstantData:
        """The same bytes under another shape of equal size."""
        return ConstantData(self.dtype, tuple(shape), self.raw, self.external)

    def as_numpy(self) -> np.ndarray:
        """The storage as a shaped array (see `DType.storage` for what holds bfloat16); sub-byte types stay flat."""
        if self.external is not None:
            name = self.external.partition(":")[2]
            raise Unsupported(
                "network.external_weight",
                f"weight '{name}' stands outside of the engine, but a layer needs its values at build time; "
                "build with embedded weights",
            )
        array = self.raw.view(self.dtype.storage)
        return array if self.dtype.bits < 8 else array.reshape(self.shape)

    def as_float32(self) -> np.ndarray:
        """The values as a new float32 array, exactly converted. Only for float types."""
        if self.dtype is DType.BF16:
            return (self.as_numpy().astype(np.uint32) << 16).view(np.float32)
        if self.dtype not in COMPUTE_DTYPES:
            raise TypeError(f"a {self.dtype.value} constant is not a float constant")
        return self.as_numpy().astype(np.float32)

    def as_ints(self) -> tuple[int, ...]:
        """The values of an integer constant as Python integers, flat."""
        if self.dtype not in INTEGER_DTYPES:
            raise TypeError(f"a {self.dtype.value} constant is not an integer constant")
        return tuple(int(v) for v in self.as_numpy().reshape(-1))

    def scalar(self) -> float | None:
        """The one value of a float constant with a single element, else None."""
        return float(self.as_float32().reshape(-1)[0]) if self.dtype in COMPUTE_DTYPES and self.size == 1 else None
