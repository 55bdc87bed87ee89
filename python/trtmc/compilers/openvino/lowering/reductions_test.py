"""Reduce, softmax, top-k, cumulative and normalization layers against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType

X = np.random.default_rng(2).standard_normal((2, 3, 4)).astype(np.float32)
REDUCE = {"SUM": np.sum, "PROD": np.prod, "MAX": np.max, "MIN": np.min, "AVG": np.mean}


@pytest.mark.parametrize("op", REDUCE)
@pytest.mark.parametrize(("axes", "keep"), [((1,), True), ((0, 2), False)])
def test_reduce(op: str, axes: tuple[int, ...], keep: bool) -> None:
    def define(net: TestNetwork) -> None:
        mask = sum(1 << a for a in axes)
        net.output(
            "y", net.trt.add_reduce(net.input("x", DType.F32, (-1, 3, 4)), getattr(trt.ReduceOperation, op), mask, keep)
        )

    np.testing.assert_allclose(run(define, x=X)["y"], REDUCE[op](X, axes, keepdims=keep), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("op", "sign"), [("MAX", 1), ("MIN", -1)])
def test_a_row_of_infinities_reduces_to_infinity_and_the_lowest_float_to_itself(op: str, sign: int) -> None:
    def define(net: TestNetwork) -> None:
        net.output(
            "y", net.trt.add_reduce(net.input("x", DType.F32, (-1, 2)), getattr(trt.ReduceOperation, op), 2, False)
        )

    low = np.finfo(np.float32).min
    x = sign * np.array([[-np.inf, -np.inf], [low, -np.inf], [-np.inf, 3], [low, low]], np.float32)
    assert run(define, x=x)["y"].tolist() == [sign * v for v in (-np.inf, low, 3, low)]


def test_softmax() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_softmax(net.input("x", DType.F32, (-1, 3, 4)))
        layer.axes = 1 << 2
        net.output("y", layer)

    e = np.exp(X - X.max(-1, keepdims=True))
    np.testing.assert_allclose(run(define, x=X)["y"], e / e.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("largest", [True, False])
def test_top_k(largest: bool) -> None:
    def define(net: TestNetwork) -> None:
        op = trt.TopKOperation.MAX if largest else trt.TopKOperation.MIN
        layer = net.trt.add_topk(net.input("x", DType.F32, (-1, 3, 4)), op, 2, 1 << 2)
        net.output("values", layer, 0)
        net.output("indices", layer, 1)

    order = np.argsort(-X if largest else X, -1, kind="stable")[..., :2]
    y = run(define, x=X)
    assert y["indices"].dtype == np.int32
    np.testing.assert_array_equal(y["indices"], order)
    np.testing.assert_array_equal(y["values"], np.take_along_axis(X, order, -1))


def test_top_k_with_k_from_a_tensor() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_topk(net.input("x", DType.F32, (-1, 3, 4)), trt.TopKOperation.MAX, 1, 1 << 2)
        layer.set_input(1, net.input("k", DType.I32, ()))
        net.output("values", layer, 0)

    assert run(define, x=X, k=np.array(3, np.int32))["values"].shape == (2, 3, 3)


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative(exclusive: bool, reverse: bool) -> None:
    def define(net: TestNetwork) -> None:
        axis = net.const(np.array(-1, np.int32))
        x = net.input("x", DType.F32, (-1, 3, 4))
        net.output("y", net.trt.add_cumulative(x, axis, trt.CumulativeOperation.SUM, exclusive, reverse))

    x = X[..., ::-1] if reverse else X
    total = np.cumsum(x, -1) - (x if exclusive else 0)
    np.testing.assert_allclose(run(define, x=X)["y"], total[..., ::-1] if reverse else total, rtol=1e-4, atol=1e-5)


def test_layer_normalization() -> None:
    scale, bias = np.linspace(0.5, 2, 4, dtype=np.float32), np.linspace(-1, 1, 4, dtype=np.float32)

    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (-1, 3, 4))
        layer = net.trt.add_normalization_v2(
            x, net.const(scale.reshape(1, 1, 4)), net.const(bias.reshape(1, 1, 4)), 1 << 2
        )
        layer.epsilon = 1e-3
        net.output("y", layer)

    centred = X - X.mean(-1, keepdims=True)
    expected = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3) * scale + bias
    np.testing.assert_allclose(run(define, x=X)["y"], expected, rtol=1e-4, atol=1e-5)


def test_group_normalization() -> None:
    x = np.random.default_rng(3).standard_normal((2, 4, 3, 5)).astype(np.float32)
    scale, bias = np.linspace(0.5, 2, 4, dtype=np.float32), np.linspace(-1, 1, 4, dtype=np.float32)

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 4, 3, 5))
        layer = net.trt.add_normalization_v2(
            given, net.const(scale.reshape(1, 4, 1, 1)), net.const(bias.reshape(1, 4, 1, 1)), (1 << 2) | (1 << 3)
        )
        layer.num_groups = 2
        layer.epsilon = 1e-3
        net.output("y", layer)

    groups = x.reshape(2, 2, -1)
    centred = groups - groups.mean(-1, keepdims=True)
    normal = (centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)).reshape(x.shape)
    expected = normal * scale.reshape(1, 4, 1, 1) + bias.reshape(1, 4, 1, 1)
    np.testing.assert_allclose(run(define, x=x)["y"], expected, rtol=1e-4, atol=1e-5)


def test_ragged_softmax() -> None:
    x, bounds = (
        np.random.default_rng(7).standard_normal((2, 3, 5)).astype(np.float32),
        np.array([[[5], [2], [0]], [[1], [4], [3]]], np.int32),
    )

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 3, 5)), net.input("n", DType.I32, (-1, 3, 1))
        net.output("y", net.trt.add_ragged_softmax(*given))

    expected = np.zeros((2, 3, 5))
    for z, row in np.ndindex(2, 3):
        count = bounds[z, row, 0]
        e = np.exp(x[z, row, :count])
        expected[z, row, :count] = e / e.sum()
    np.testing.assert_allclose(run(define, x=x, n=bounds)["y"], expected, rtol=1e-5, atol=1e-7)
