"""Every element type of TensorRT goes in and comes out of a network unchanged; half types round to the nearest."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.reader import DTYPES
from trtmc.compilers.openvino.lowering.context import STORAGE_TYPES
from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported
from trtmc.testing.oracles.floats import bfloat16

RNG = np.random.default_rng(15)


def test_all_types_are_accounted_for() -> None:
    assert {kind.name for kind in DTYPES} == set(trt.DataType.__members__)
    assert set(DTYPES.values()) == set(STORAGE_TYPES)


def _patterns(dtype: DType) -> np.ndarray:
    """Eight values: any for integers, finite ones for floats."""
    if dtype in (DType.F32, DType.F16):
        return RNG.standard_normal(8).astype(dtype.storage)
    if dtype is DType.BF16:
        return RNG.standard_normal(8).astype(ml_dtypes.bfloat16).view(np.uint16)
    if dtype is DType.BOOL:
        return RNG.random(8) < 0.5
    if dtype in (DType.F8_E4M3, DType.F8_E8M0):
        return RNG.integers(0, 127, 8).astype(np.uint8)
    if dtype.bits < 8:
        return RNG.integers(0, 256, 4).astype(np.uint8)
    limits = np.iinfo(np.int32 if dtype is DType.I64 else dtype.storage)
    return RNG.integers(limits.min, limits.max, 8, endpoint=True).astype(dtype.storage)


@pytest.mark.parametrize("name", sorted(trt.DataType.__members__))
def test_every_type_passes_through(name: str) -> None:
    dtype = DTYPES[getattr(trt.DataType, name)]
    x = _patterns(dtype)

    def define(net: TestNetwork) -> None:
        given = net.input("x", dtype, (8,))
        if dtype is DType.U8:  # TensorRT has nothing but casts for these
            net.output("y", net.trt.add_cast(net.trt.add_cast(given, trt.float32).get_output(0), trt.uint8))
            return
        layer = net.trt.add_shuffle(given)
        layer.reshape_dims = (2, 4)
        net.output("y", layer)

    y = run(define, x=x)["y"]
    assert y.dtype == dtype.storage
    np.testing.assert_array_equal(y.reshape(-1), x)


@pytest.mark.parametrize("dtype", [DType.F16, DType.BF16])
def test_half_outputs_round_to_the_nearest_even(dtype: DType) -> None:
    bits = RNG.integers(0x38800000, 0x47000000, 4096, np.uint32)  # normal in both types
    ties = bits & np.uint32(0xFFFF0000) | np.uint32(0x8000 if dtype is DType.BF16 else 0x1000)
    x = np.concatenate([bits, ties]).view(np.float32)

    def define(net: TestNetwork) -> None:
        target = trt.float16 if dtype is DType.F16 else trt.bfloat16
        net.output("y", net.trt.add_cast(net.input("x", DType.F32, x.shape), target))

    y = run(define, x=x)["y"]
    if dtype is DType.F16:
        np.testing.assert_array_equal(y, x.astype(np.float16))
    else:
        np.testing.assert_array_equal((y.astype(np.uint32) << 16).view(np.float32), bfloat16(x))


def _shifted(value: int) -> object:
    def define(net: TestNetwork) -> None:
        constant = net.const(np.array([value]))
        net.output(
            "y", net.trt.add_elementwise(net.input("x", DType.I64, (1,)), constant, trt.ElementWiseOperation.MIN)
        )

    return define


@pytest.mark.parametrize("value", [2**40, -(2**40), 2**31 + 1])
def test_a_constant_beyond_32_bits_is_refused(value: int) -> None:
    with pytest.raises(
        Unsupported, match=rf"\(CONSTANT\): the value {value}; the CPU computes 64-bit integers in 32 bits"
    ):
        run(_shifted(value), x=np.array([1]))


def test_the_end_of_int64_stands_for_no_bound() -> None:
    assert run(_shifted(2**63 - 1), x=np.array([7]))["y"].tolist() == [7]
