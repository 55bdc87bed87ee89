"""Dequantize and quantize layers against numpy: per tensor, per axis, per block; int8 and packed int4."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType

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
