"""Four-bit network inputs and outputs: packed bytes outside, a type that operations know inside.

Two values share a byte, the first in the low half. int4 values are computed as int8, float4 ones as float32 (every
value is exact). The shape is the network's, so it must be static; outside there is a flat array of bytes.
"""

from __future__ import annotations

from math import prod

import numpy as np

from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering
from trtmc.core.dtype import DType

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_FLOAT4 = np.concatenate([_E2M1, -_E2M1])


def packed_size(shape: tuple[int, ...]) -> int:
    """Bytes that hold the values of a static shape."""
    return -(-prod(shape) // 2)


def unpack(low: Lowering, raw: Value, dtype: DType, shape: tuple[int, ...]) -> Value:
    """Bytes [n / 2] -> values of `shape`."""
    o = low.ops
    sixteen = _int(low, 16)
    wide = o.convert(raw, ElementType.I32)
    high = o.divide(wide, sixteen)
    pairs = [o.unsqueeze(v, o.i64(-1)) for v in (o.subtract(wide, o.multiply(high, sixteen)), high)]
    codes = o.reshape(o.concat(pairs, -1), o.i64(-1))
    if prod(shape) % 2:
        codes = o.slice(codes, o.i64(0), o.i64(prod(shape)), o.i64(1), o.i64(0))
    codes = o.reshape(codes, low.dims_value(shape))
    if dtype is DType.F4_E2M1:
        return o.gather(o.array(_FLOAT4), codes, 0)
    negative = o.compare("GreaterEqual", codes, _int(low, 8))
    return o.convert(o.select(negative, o.subtract(codes, sixteen), codes), ElementType.I8)


def pack(low: Lowering, value: Value, dtype: DType, shape: tuple[int, ...]) -> Value:
    """Values of `shape` -> bytes [n / 2]."""
    o = low.ops
    codes = _float4_codes(low, value) if dtype is DType.F4_E2M1 else _int4_codes(low, value)
    codes = o.reshape(codes, o.i64(-1))
    if prod(shape) % 2:
        codes = o.concat([codes, o.array(np.zeros(1, np.int32))], 0)
    pairs = o.reshape(codes, o.i64(-1, 2))
    first, second = (o.gather(pairs, o.index(i), 1) for i in (0, 1))
    return o.convert(o.add(first, o.multiply(second, _int(low, 16))), ElementType.U8)


def _int4_codes(low: Lowering, value: Value) -> Value:
    o = low.ops
    wide = o.convert(value, ElementType.I32)
    return o.select(o.compare("Less", wide, _int(low, 0)), o.add(wide, _int(low, 16)), wide)


def _float4_codes(low: Lowering, value: Value) -> Value:
    """How many magnitudes are not above the value's, plus 8 for a sign; 1 / -0 tells negative zero."""
    o = low.ops
    x = o.convert(value, ElementType.F32)
    reached = o.compare("GreaterEqual", o.unsqueeze(o.unary("Abs", x), o.i64(-1)), o.array(_E2M1[1:]))
    count = o.reduce("ReduceSum", o.convert(reached, ElementType.I32), (-1,), False)
    zero = o.f32(0.0)
    below = o.compare("Less", o.select(o.compare("Equal", x, zero), o.divide(o.f32(1.0), x), x), zero)
    return o.add(count, o.multiply(o.convert(below, ElementType.I32), _int(low, 8)))


def _int(low: Lowering, value: int) -> Value:
    return low.ops.array(np.array(value, np.int32))
