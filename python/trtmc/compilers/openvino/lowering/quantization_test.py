"""Dequantize and quantize layers against numpy: per tensor, per axis, per block; int8 and packed int4."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

RNG = np.random.default_rng(4)
Q = RNG.integers(-128, 128, (4, 6)).astype(np.int8)


def _scaled_by(scale: np.ndarray, axis: int | None = None, packed: np.ndarray | None = None) -> np.ndarray:
    def define(net: TestNetwork) -> None:
        q = net.const(Q) if packed is None else net.const(packed, DType.I4, (4, 6))
        layer = net.trt.add_dequantize(q, net.const(scale), trt.float32)
        if axis is not None:
            layer.axis = axis
        ones = net.input("x", DType.F32, (-1, 6))
        net.output("y", net.trt.add_elementwise(ones, layer.get_output(0), trt.ElementWiseOperation.PROD))

    return run(define, x=np.ones((4, 6), np.float32))["y"]


def test_dequantize_per_tensor() -> None:
    np.testing.assert_allclose(_scaled_by(np.array(0.25, np.float32)), Q * np.float32(0.25))


@pytest.mark.parametrize("axis", [0, 1])
def test_dequantize_per_axis(axis: int) -> None:
    scale = np.linspace(0.1, 1, Q.shape[axis], dtype=np.float32)
    np.testing.assert_allclose(_scaled_by(scale, axis), Q * np.expand_dims(scale, 1 - axis), rtol=1e-6)


def test_dequantize_packed_int4_per_block() -> None:
    q = RNG.integers(-8, 8, (4, 6)).astype(np.int8)
    flat = q.reshape(-1)
    packed = ((flat[0::2] & 15) | ((flat[1::2] & 15) << 4)).astype(np.uint8)
    scale = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_allclose(_scaled_by(scale, packed=packed), q * np.repeat(scale, 2, 1), rtol=1e-6)


def test_quantize_rounds_halves_to_even_and_clamps() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_quantize(net.input("x", DType.F32, (-1,)), net.const(np.array(0.5, np.float32)), trt.int8)
        back = net.trt.add_dequantize(layer.get_output(0), net.const(np.array(1.0, np.float32)), trt.float32)
        net.output("y", back)

    x = np.array([0.25, 0.75, -0.25, 1.3, 1000, -1000], np.float32)
    assert run(define, x=x)["y"].tolist() == [0, 2, 0, 3, 127, -128]


def _there_and_back(scale: np.ndarray, zero: np.ndarray, x: np.ndarray) -> dict[str, np.ndarray]:
    def define(net: TestNetwork) -> None:
        kind = {np.dtype(np.int8): DType.I8, np.dtype(np.uint8): DType.U8}[zero.dtype]
        point = net.input("zero", kind, zero.shape)
        layer = net.trt.add_quantize(net.input("x", DType.F32, x.shape), net.const(scale), trt.int8)
        layer.axis = 1
        layer.set_input(2, point)
        back = net.trt.add_dequantize(layer.get_output(0), net.const(scale), trt.float32)
        back.axis = 1
        back.set_input(2, point)
        net.output("y", layer)
        net.output("back", back)

    return run(define, x=x, zero=zero)


def test_zero_points_shift_by_channel() -> None:
    scale, zero = np.array([0.5, 2.0], np.float32), np.array([-100, 3], np.int8)
    x = np.array([[1, 4], [-200, 1000], [0.75, -5]], np.float32)
    y = _there_and_back(scale, zero, x)
    expected = np.clip(np.rint(x / scale) + zero.astype(np.float32), -128, 127)
    np.testing.assert_array_equal(y["y"], expected)
    np.testing.assert_allclose(y["back"], (expected - zero) * scale)


def test_a_zero_point_of_another_type_is_refused() -> None:
    with pytest.raises(Unsupported, match=r"\(QUANTIZE\): a zero point of type uint8 for int8"):
        _there_and_back(np.array([0.5, 2.0], np.float32), np.array([1, 3], np.uint8), np.ones((3, 2), np.float32))


def _e4m3(code: int) -> float:
    """Sign, 4 bits of exponent with bias 7, 3 of fraction; all ones is NaN."""
    sign, exponent, fraction = -1.0 if code & 0x80 else 1.0, code >> 3 & 15, code & 7
    if code & 0x7F == 0x7F:
        return float("nan")
    return sign * (fraction / 8 * 2.0**-6 if exponent == 0 else (1 + fraction / 8) * 2.0 ** (exponent - 7))


E4M3 = np.array([_e4m3(code) for code in range(256)], np.float32)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def _nearest(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The nearest value of the table; of two, the one with an even code."""
    codes = [code for code in range(len(table)) if np.isfinite(table[code])]
    codes.sort(key=lambda code: code % 2)
    values = table[codes].astype(np.float64)
    return values[np.abs(x[..., None].astype(np.float64) - values).argmin(-1)].astype(np.float32)


def _scaled_constant(raw: np.ndarray, dtype: DType, scale: tuple[np.ndarray, DType | None], count: int) -> np.ndarray:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_dequantize(net.const(raw, dtype, (1, count)), net.const(*scale), trt.float32)
        ones = net.input("x", DType.F32, (-1, count))
        net.output("y", net.trt.add_elementwise(ones, layer.get_output(0), trt.ElementWiseOperation.PROD))

    return run(define, x=np.ones((1, count), np.float32))["y"][0]


def test_every_fp8_code_dequantizes_exactly() -> None:
    y = _scaled_constant(np.arange(256, dtype=np.uint8), DType.F8_E4M3, (np.array(0.5, np.float32), None), 256)
    np.testing.assert_array_equal(y, E4M3 * np.float32(0.5))


def test_packed_fp4_dequantizes_exactly_by_blocks() -> None:
    packed = np.array([low | (low + 1) << 4 for low in range(0, 16, 2)], np.uint8)
    scale = np.array([[1.0, 0.25]], np.float32)
    y = _scaled_constant(packed, DType.F4_E2M1, (scale, None), 16)
    np.testing.assert_array_equal(y, E2M1 * np.repeat(scale[0], 8))


@pytest.mark.parametrize(("kind", "table", "largest"), [("fp8", E4M3, 448.0), ("fp4", E2M1, 6.0)])
def test_quantizing_to_narrow_floats_rounds_to_the_nearest_even_and_saturates(
    kind: str, table: np.ndarray, largest: float
) -> None:
    finite = np.sort(np.unique(table[np.isfinite(table)]))
    halves = (finite[1:] + finite[:-1]) / 2
    x = np.concatenate([finite, halves, halves * np.float32(1.001), [1e6, -1e6]]).astype(np.float32)

    def define(net: TestNetwork) -> None:
        one = net.const(np.array(1.0, np.float32))
        layer = net.trt.add_quantize(net.input("x", DType.F32, x.shape), one, getattr(trt, kind))
        net.output("y", net.trt.add_dequantize(layer.get_output(0), one, trt.float32))

    np.testing.assert_array_equal(run(define, x=x)["y"], _nearest(np.clip(x, -largest, largest), table))


def test_fp8_with_power_of_two_scales_by_blocks_of_32() -> None:
    codes = np.random.default_rng(9).integers(0, 127, (2, 64)).astype(np.uint8)
    exponents = np.array([[127, 120], [130, 127]], np.uint8)

    def define(net: TestNetwork) -> None:
        weight, scale = net.const(codes, DType.F8_E4M3), net.const(exponents, DType.F8_E8M0)
        layer = net.trt.add_dequantize(weight, scale, trt.float32)
        ones = net.input("x", DType.F32, (-1, 64))
        net.output("y", net.trt.add_elementwise(ones, layer.get_output(0), trt.ElementWiseOperation.PROD))

    expected = E4M3[codes] * np.repeat(2.0 ** (exponents.astype(np.float32) - 127), 32, 1)
    np.testing.assert_array_equal(run(define, x=np.ones((2, 64), np.float32))["y"], expected)
