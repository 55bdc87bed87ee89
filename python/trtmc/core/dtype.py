"""Element types: one enum for checkpoints, networks and contracts.

Names are those of the engine contract. numpy has no bfloat16, float8 or sub-byte types: such data travels in an
unsigned integer array of the same width (`storage`), and nothing but `core.precision` interprets it.

    >>> DType("bfloat16").bits, DType.BF16.storage.name
    (16, 'uint16')
"""

from __future__ import annotations

from enum import Enum

import numpy as np

_BITS = {
    "float64": 64,
    "float32": 32,
    "float16": 16,
    "bfloat16": 16,
    "int64": 64,
    "int32": 32,
    "int16": 16,
    "int8": 8,
    "uint8": 8,
    "bool": 8,
    "float8_e4m3": 8,
    "float8_e5m2": 8,
    "float8_e8m0": 8,
    "int4": 4,
    "float4_e2m1": 4,
}


class DType(Enum):
    """An element type; `value` is its contract name."""

    F64 = "float64"
    F32 = "float32"
    F16 = "float16"
    BF16 = "bfloat16"
    I64 = "int64"
    I32 = "int32"
    I16 = "int16"
    I8 = "int8"
    U8 = "uint8"
    BOOL = "bool"
    F8_E4M3 = "float8_e4m3"
    F8_E5M2 = "float8_e5m2"
    F8_E8M0 = "float8_e8m0"
    I4 = "int4"
    F4_E2M1 = "float4_e2m1"

    @property
    def bits(self) -> int:
        """Width of one element."""
        return _BITS[self.value]

    @property
    def storage(self) -> np.dtype:
        """The numpy type that carries this type's bits; sub-byte types are packed into bytes."""
        if self.value in ("bool", "int4", "float4_e2m1") or self.value.startswith("float8"):
            return np.dtype("uint8") if self is not DType.BOOL else np.dtype("bool")
        return np.dtype("uint16") if self is DType.BF16 else np.dtype(self.value)

    @property
    def is_float(self) -> bool:
        """True for every floating type, narrow ones included."""
        return "float" in self.value

    def __str__(self) -> str:
        return self.value


COMPUTE_DTYPES = (DType.F32, DType.F16, DType.BF16)
"""The types a network may compute in, widest first."""
