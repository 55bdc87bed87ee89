"""Unary, binary, activation, select and cast layers against numpy."""

from __future__ import annotations

from collections.abc import Callable
from math import erf

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType

EW, UN, ACT = trt.ElementWiseOperation, trt.UnaryOperation, trt.ActivationType
Float = Callable[[np.ndarray], np.ndarray]

ANY = np.array([[-2.5, -1.5, -0.5, 0.0], [0.5, 1.5, 2.5, 3.25]], np.float32)
UNIT = np.array([[-0.9, -0.5, 0.0, 0.7]], np.float32)
ABOVE_ONE = np.array([[1.0, 1.5, 2.0, 4.0]], np.float32)
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, 3e38], np.float32)

UNARY = [
    ("EXP", ANY, np.exp),
    ("LOG", ABOVE_ONE, np.log),
    ("SQRT", ABOVE_ONE, np.sqrt),
    ("RECIP", ABOVE_ONE, np.reciprocal),
    ("ABS", ANY, np.abs),
    ("NEG", ANY, np.negative),
    ("SIN", ANY, np.sin),
    ("COS", ANY, np.cos),
    ("TAN", UNIT, np.tan),
    ("SINH", ANY, np.sinh),
    ("COSH", ANY, np.cosh),
    ("ASIN", UNIT, np.arcsin),
    ("ACOS", UNIT, np.arccos),
    ("ATAN", ANY, np.arctan),
    ("ASINH", ANY, np.arcsinh),
    ("ACOSH", ABOVE_ONE, np.arccosh),
    ("ATANH", UNIT, np.arctanh),
    ("CEIL", ANY, np.ceil),
    ("FLOOR", ANY, np.floor),
    ("ERF", ANY, np.vectorize(erf, otypes=[np.float32])),
    ("SIGN", ANY, np.sign),
    ("ROUND", ANY, np.rint),
    ("ISINF", SPECIAL, np.isinf),
    ("ISNAN", SPECIAL, np.isnan),
]


@pytest.mark.parametrize(("op", "x", "expected"), UNARY, ids=[u[0] for u in UNARY])
def test_unary(op: str, x: np.ndarray, expected: Float) -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_unary(net.input("x", DType.F32, (-1,) * x.ndim), getattr(UN, op)))

    np.testing.assert_allclose(run(define, x=x)["y"], expected(x), rtol=2e-5, atol=2e-6)


def test_not() -> None:
    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_unary(net.input("x", DType.BOOL, (-1,)), UN.NOT))

    assert run(define, x=np.array([True, False]))["y"].tolist() == [False, True]


A = np.array([[7.0, -7.0, 0.5], [-3.0, 2.0, 9.0]], np.float32)
B = np.array([[2.0, 2.0, 4.0]], np.float32)
BINARY = [
    ("SUM", np.add),
    ("PROD", np.multiply),
    ("MAX", np.maximum),
    ("MIN", np.minimum),
    ("SUB", np.subtract),
    ("DIV", np.divide),
    ("POW", np.power),
    ("FLOOR_DIV", np.floor_divide),
    ("EQUAL", np.equal),
    ("GREATER", np.greater),
    ("LESS", np.less),
]


@pytest.mark.parametrize(("op", "expected"), BINARY, ids=[b[0] for b in BINARY])
def test_binary_broadcasts(op: str, expected: Callable[..., np.ndarray]) -> None:
    def define(net: TestNetwork) -> None:
        a, b = net.input("a", DType.F32, (-1, 3)), net.input("b", DType.F32, (1, 3))
        net.output("y", net.trt.add_elementwise(a, b, getattr(EW, op)))

    np.testing.assert_allclose(run(define, a=A, b=B)["y"], expected(A, B), rtol=1e-6)


@pytest.mark.parametrize(
    ("op", "expected"),
    [("DIV", [3, -3, -3, 3, 2, 0]), ("FLOOR_DIV", [3, -4, -4, 3, 2, -1]), ("SUM", [9, -5, 5, -9, 8, -1])],
)
@pytest.mark.parametrize("dtype", [DType.I32, DType.I64])
def test_integers_divide_towards_zero_or_down(op: str, expected: list[int], dtype: DType) -> None:
    def define(net: TestNetwork) -> None:
        a, b = net.input("a", dtype, (-1,)), net.input("b", dtype, (-1,))
        net.output("y", net.trt.add_elementwise(a, b, getattr(EW, op)))

    a = np.array([7, -7, 7, -7, 6, -1], dtype.storage)
    b = np.array([2, 2, -2, -2, 3, 2], dtype.storage)
    if op == "SUM":
        b = np.array([2, 2, -2, -2, 2, 0], dtype.storage)
    assert run(define, a=a, b=b)["y"].tolist() == expected


@pytest.mark.parametrize(("op", "expected"), [("AND", [1, 0, 0, 0]), ("OR", [1, 1, 1, 0]), ("XOR", [0, 1, 1, 0])])
def test_logical(op: str, expected: list[int]) -> None:
    def define(net: TestNetwork) -> None:
        a, b = net.input("a", DType.BOOL, (-1,)), net.input("b", DType.BOOL, (-1,))
        net.output("y", net.trt.add_elementwise(a, b, getattr(EW, op)))

    a, b = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    assert run(define, a=a, b=b)["y"].astype(int).tolist() == expected


def _gelu_tanh(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


ALPHA, BETA = 0.3, 1.7
ACTIVATIONS: list[tuple[str, Float]] = [
    ("RELU", lambda x: np.maximum(x, 0)),
    ("SIGMOID", lambda x: 1 / (1 + np.exp(-x))),
    ("TANH", np.tanh),
    ("LEAKY_RELU", lambda x: np.where(x < 0, ALPHA * x, x)),
    ("ELU", lambda x: np.where(x < 0, ALPHA * (np.exp(x) - 1), x)),
    ("SELU", lambda x: BETA * np.where(x < 0, ALPHA * (np.exp(x) - 1), x)),
    ("SOFTSIGN", lambda x: x / (1 + np.abs(x))),
    ("SOFTPLUS", lambda x: ALPHA * np.log1p(np.exp(BETA * x))),
    ("CLIP", lambda x: np.minimum(np.maximum(x, ALPHA), BETA)),
    ("HARD_SIGMOID", lambda x: np.clip(ALPHA * x + BETA, 0, 1)),
    ("SCALED_TANH", lambda x: ALPHA * np.tanh(BETA * x)),
    ("THRESHOLDED_RELU", lambda x: np.where(x > ALPHA, x, 0)),
    ("GELU_ERF", lambda x: 0.5 * x * (1 + np.vectorize(erf)(x / np.sqrt(2)))),
    ("GELU_TANH", _gelu_tanh),
]


@pytest.mark.parametrize(("kind", "expected"), ACTIVATIONS, ids=[a[0] for a in ACTIVATIONS])
def test_activation(kind: str, expected: Float) -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_activation(net.input("x", DType.F32, (-1, 4)), getattr(ACT, kind))
        layer.alpha, layer.beta = ALPHA, BETA
        net.output("y", layer)

    np.testing.assert_allclose(run(define, x=ANY)["y"], expected(ANY), rtol=2e-5, atol=2e-6)


def test_every_operation_of_the_library_is_covered_here() -> None:
    assert {u[0] for u in UNARY} | {"NOT"} == set(UN.__members__)
    assert {a[0] for a in ACTIVATIONS} == set(ACT.__members__)
    assert {b[0] for b in BINARY} | {"AND", "OR", "XOR"} == set(EW.__members__)


def test_select() -> None:
    def define(net: TestNetwork) -> None:
        c = net.input("c", DType.BOOL, (-1, 1))
        net.output(
            "y", net.trt.add_select(c, net.input("a", DType.F32, (-1, 3)), net.const(np.zeros((1, 3), np.float32)))
        )

    y = run(define, c=np.array([[True], [False]]), a=np.ones((2, 3), np.float32))["y"]
    assert y.tolist() == [[1, 1, 1], [0, 0, 0]]


CASTS = [
    (DType.F32, DType.I32, [-1.7, -0.2, 0.6, 2.9], [-1, 0, 0, 2]),
    (DType.F32, DType.I64, [-1.7, -0.2, 0.6, 2.9], [-1, 0, 0, 2]),
    (DType.F32, DType.BOOL, [-0.25, 0.0, 0.5, 2.0], [True, False, True, True]),
    (DType.I32, DType.BOOL, [-1, 0, 1, 256], [True, False, True, True]),
    (DType.I64, DType.F32, [-3, 0, 5, 7], [-3.0, 0.0, 5.0, 7.0]),
    (DType.BOOL, DType.F32, [True, False], [1.0, 0.0]),
    (DType.I32, DType.I64, [-3, 4], [-3, 4]),
]


@pytest.mark.parametrize(("source", "target", "x", "expected"), CASTS)
def test_cast(source: DType, target: DType, x: list[float], expected: list[float]) -> None:
    def define(net: TestNetwork) -> None:
        kind = {DType.F32: trt.float32, DType.I32: trt.int32, DType.I64: trt.int64, DType.BOOL: trt.bool}[target]
        net.output("y", net.trt.add_cast(net.input("x", source, (-1,)), kind))

    y = run(define, x=np.array(x, source.storage))["y"]
    assert y.dtype == target.storage
    assert y.tolist() == expected


def test_half_precision_in_and_out_keeps_its_type() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F16, (-1,))
        net.output("y", net.trt.add_elementwise(x, x, EW.SUM))

    y = run(define, x=np.array([0.1, 2.0], np.float16))["y"]
    assert y.dtype == np.float16
    assert y.tolist() == [np.float16(0.2), 4.0]


def test_parametric_relu() -> None:
    def define(net: TestNetwork) -> None:
        slopes = net.const(np.array([[0.5, 0.25, 2.0, 1.0]], np.float32))
        net.output("y", net.trt.add_parametric_relu(net.input("x", DType.F32, (-1, 4)), slopes))

    assert run(define, x=np.array([[-2, -4, 3, 0]], np.float32))["y"].tolist() == [[-1, -1, 3, 0]]


def test_the_exponential_of_nan_is_nan() -> None:
    x = np.array([np.nan, -np.inf, 0, 1, np.inf, 100], np.float32)

    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_unary(net.input("x", DType.F32, (-1,)), trt.UnaryOperation.EXP))

    with np.errstate(over="ignore"):
        np.testing.assert_allclose(run(define, x=x)["y"], np.exp(x), rtol=1e-6)
