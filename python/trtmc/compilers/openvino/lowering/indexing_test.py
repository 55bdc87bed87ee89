"""Gather, scatter, one-hot, non-zero and fill layers against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("dtype", [DType.I32, DType.I64])
def test_gather_slices(dtype: DType) -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_gather(net.input("x", DType.F32, (-1, 3, 4)), net.input("i", dtype, (-1, -1)), 1))

    i = np.array([[2, 0], [1, 1]], dtype.storage)
    np.testing.assert_array_equal(run(define, x=X, i=i)["y"], X[:, i])


def test_gather_elementwise_over_the_batch() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_gather(net.input("x", DType.F32, (-1, 3, 4)), net.input("i", DType.I32, (-1, 2)), 1)
        layer.num_elementwise_dims = 1
        net.output("y", layer)

    i = np.array([[2, 0], [1, 1]], np.int32)
    np.testing.assert_array_equal(run(define, x=X, i=i)["y"], np.stack([X[b, i[b]] for b in range(2)]))


def test_gather_elements_and_nd() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (-1, 3, 4))
        element = net.trt.add_gather_v2(x, net.input("e", DType.I32, (2, 1, 4)), trt.GatherMode.ELEMENT)
        element.axis = 1
        net.output("element", element)
        net.output("nd", net.trt.add_gather_v2(x, net.input("n", DType.I32, (3, 2)), trt.GatherMode.ND))

    e = np.array([[[0, 1, 2, 0]], [[2, 2, 1, 1]]], np.int32)
    n = np.array([[0, 1], [1, 2], [1, 0]], np.int32)
    y = run(define, x=X, e=e, n=n)
    np.testing.assert_array_equal(y["element"], np.take_along_axis(X, e, 1))
    np.testing.assert_array_equal(y["nd"], X[n[:, 0], n[:, 1]])


def test_scatter_elements_and_nd() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (3, 4))
        element = net.trt.add_scatter(
            x, net.input("e", DType.I32, (1, 4)), net.input("u", DType.F32, (1, 4)), trt.ScatterMode.ELEMENT
        )
        element.axis = 0
        net.output("element", element)
        net.output(
            "nd",
            net.trt.add_scatter(
                x, net.input("n", DType.I32, (1, 1)), net.input("v", DType.F32, (1, 4)), trt.ScatterMode.ND
            ),
        )

    x, e, u = X[0], np.array([[2, 0, 1, 1]], np.int32), np.full((1, 4), -1, np.float32)
    y = run(define, x=x, e=e, u=u, n=np.array([[1]], np.int32), v=u)
    expected = x.copy()
    np.put_along_axis(expected, e, u, 0)
    np.testing.assert_array_equal(y["element"], expected)
    np.testing.assert_array_equal(y["nd"], [x[0], u[0], x[2]])


@pytest.mark.parametrize("axis", [-1, 0])
def test_one_hot(axis: int) -> None:
    def define(net: TestNetwork) -> None:
        values, depth = net.const(np.array([0.5, 2.0], np.float32)), net.const(np.array(3, np.int32))
        net.output("y", net.trt.add_one_hot(net.input("i", DType.I32, (-1,)), values, depth, axis))

    eye = np.where(np.eye(3)[[2, 0, -1]], 2.0, 0.5)
    np.testing.assert_array_equal(run(define, i=np.array([2, 0, -1], np.int32))["y"], eye if axis else eye.T)


def test_non_zero() -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_non_zero(net.input("x", DType.F32, (-1, 3))))

    x = np.array([[0, 1, 0], [2, 0, 3]], np.float32)
    np.testing.assert_array_equal(run(define, x=x)["y"], np.stack(np.nonzero(x)))


def test_reverse_sequence() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_reverse_sequence(net.input("x", DType.F32, (-1, 3, 4)), net.input("n", DType.I32, (-1,)))
        layer.batch_axis, layer.sequence_axis = 0, 1
        net.output("y", layer)

    y = run(define, x=X, n=np.array([2, 3], np.int32))["y"]
    np.testing.assert_array_equal(y, np.stack([X[0, [1, 0, 2]], X[1, ::-1]]))
