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
