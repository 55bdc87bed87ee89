"""Shape, shuffle, concatenation, squeeze, unsqueeze and slice layers against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_shape() -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_shape(net.input("x", DType.F32, (-1, 3, -1))))

    assert run(define, x=X)["y"].tolist() == [2, 3, 4]


def test_shuffle_transposes_reshapes_transposes() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_shuffle(net.input("x", DType.F32, (-1, 3, 4)))
        layer.first_transpose = (1, 0, 2)
        layer.reshape_dims = (0, -1, 2, 2)
        layer.second_transpose = (0, 2, 1, 3)
        net.output("y", layer)

    expected = X.transpose(1, 0, 2).reshape(3, -1, 2, 2).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(run(define, x=X)["y"], expected)


def test_shuffle_takes_dimensions_from_a_tensor() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_shuffle(net.input("x", DType.F32, (-1, 3, 4)))
        layer.set_input(1, net.input("dims", DType.I64, (2,)))
        net.output("y", layer)

    assert run(define, x=X, dims=np.array([4, 6]))["y"].shape == (4, 6)


def test_shuffle_to_a_scalar_and_back() -> None:
    def define(net: TestNetwork) -> None:
        scalar = net.trt.add_shuffle(net.input("x", DType.F32, (1,)))
        scalar.reshape_dims = ()
        back = net.trt.add_shuffle(scalar.get_output(0))
        back.reshape_dims = (1, 1)
        net.output("y", back)

    assert run(define, x=np.array([5], np.float32))["y"].tolist() == [[5]]


def test_concatenation() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (-1, 3, 4))
        layer = net.trt.add_concatenation([x, net.const(np.zeros((2, 1, 4), np.float32)), x])
        layer.axis = 1
        net.output("y", layer)

    np.testing.assert_array_equal(run(define, x=X)["y"], np.concatenate([X, np.zeros((2, 1, 4)), X], 1))


def test_squeeze_and_unsqueeze() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (1, -1, 1, 4))
        some = net.trt.add_squeeze(x, net.const(np.array([-2], np.int64)))
        net.output("some", some)
        net.output("wide", net.trt.add_unsqueeze(some.get_output(0), net.const(np.array([0, -1], np.int64))))

    y = run(define, x=np.ones((1, 3, 1, 4), np.float32))
    assert (y["some"].shape, y["wide"].shape) == ((1, 3, 4), (1, 1, 3, 4, 1))


SLICES = [
    ((0, 1, 0), (2, 2, 2), (1, 1, 2), X[:, 1:3, 0:4:2]),
    ((0, 2, 3), (2, 3, 2), (1, -1, -2), X[:, ::-1, 3::-2]),
    ((1, 0, 0), (1, 3, 4), (1, 1, 1), X[1:2]),
    ((0, 1, 0), (2, 3, 4), (1, 0, 1), np.repeat(X[:, 1:2], 3, 1)),
]


@pytest.mark.parametrize(("start", "size", "stride", "expected"), SLICES)
def test_slice_with_fixed_sizes(
    start: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], expected: np.ndarray
) -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_slice(net.input("x", DType.F32, (-1, 3, 4)), start, size, stride))

    np.testing.assert_array_equal(run(define, x=X)["y"], expected)


@pytest.mark.parametrize(("start", "size", "stride", "expected"), SLICES)
def test_slice_with_sizes_from_tensors(
    start: tuple[int, ...], size: tuple[int, ...], stride: tuple[int, ...], expected: np.ndarray
) -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_slice(net.input("x", DType.F32, (-1, -1, -1)), (0, 0, 0), (1, 1, 1), stride)
        layer.set_input(1, net.input("start", DType.I64, (3,)))
        layer.set_input(2, net.input("size", DType.I64, (3,)))
        net.output("y", layer)

    np.testing.assert_array_equal(run(define, x=X, start=np.array(start), size=np.array(size))["y"], expected)


def _reflected(i: int, n: int) -> int:
    i %= 2 * (n - 1)
    return min(i, 2 * (n - 1) - i)


MODES = {
    "CLAMP": lambda x, i: x[min(max(i, 0), len(x) - 1)],
    "WRAP": lambda x, i: x[i % len(x)],
    "REFLECT": lambda x, i: x[_reflected(i, len(x))],
    "FILL": lambda x, i: x[i] if 0 <= i < len(x) else 9.0,
}


@pytest.mark.parametrize("mode", MODES)
def test_slice_out_of_bounds(mode: str) -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_slice(net.input("x", DType.F32, (-1,)), (-3,), (8,), (1,))
        layer.mode = getattr(trt.SampleMode, mode)
        if mode == "FILL":
            layer.set_input(4, net.const(np.array(9.0, np.float32)))
        net.output("y", layer)

    x = np.array([1, 2, 3], np.float32)
    assert run(define, x=x)["y"].tolist() == [MODES[mode](x, i) for i in range(-3, 5)]


def test_slice_along_given_axes() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_slice(net.input("x", DType.F32, (-1, 3, 4)), (1,), (2,), (1,))
        layer.axes = (2,)
        net.output("y", layer)

    np.testing.assert_array_equal(run(define, x=X)["y"], X[:, :, 1:3])


def test_slice_with_everything_from_tensors() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_slice(net.input("x", DType.F32, (-1, -1, -1)), (0, 0), (1, 1), (1, 1))
        for index, name in ((1, "start"), (2, "size"), (3, "stride"), (5, "axes")):
            layer.set_input(index, net.input(name, DType.I64, (2,)))
        net.output("y", layer)

    given = {"start": [3, 0], "size": [2, 2], "stride": [-2, 1], "axes": [2, 1]}
    inputs = {name: np.array(values) for name, values in given.items()}
    np.testing.assert_array_equal(run(define, x=X, **inputs)["y"], X[:, 0:2, 3::-2])


def test_layers_that_come_before_what_they_read() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (-1, 3, 4))
        layer = net.trt.add_slice(x, (0, 0, 0), (1, 1, 1), (1, 1, 1))
        layer.set_input(2, net.trt.add_shape(x).get_output(0))
        net.output("y", layer)

    np.testing.assert_array_equal(run(define, x=X)["y"], X)


def test_a_filling_slice_along_axes_known_at_run_time() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 4))
        layer = net.trt.add_slice(given, (0,), (0,), (1,))
        layer.mode = trt.SampleMode.FILL
        layer.set_input(1, net.input("start", DType.I64, (1,)))
        layer.set_input(2, net.input("size", DType.I64, (1,)))
        layer.set_input(4, net.const(np.array(9, np.float32)))
        layer.set_input(5, net.input("axes", DType.I64, (1,)))
        net.output("y", layer)

    for axis in (1, -1):
        y = run(define, x=x, start=np.array([-1]), size=np.array([6]), axes=np.array([axis]))["y"]
        np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (1, 1)), constant_values=9))
