"""Loops and conditionals against the same thing written as a Python loop or if."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run, runner
from trtmc.core.dtype import DType

EW, LIMIT, OUT = trt.ElementWiseOperation, trt.TripLimit, trt.LoopOutput
X = np.arange(12, dtype=np.float32).reshape(4, 3) - 5
ZERO, ONE = np.array(0, np.int32), np.array(1, np.int32)


def _ew(net: TestNetwork, a: Any, b: Any, op: Any) -> Any:
    return net.trt.add_elementwise(a, b, op).get_output(0)


def _rows(net: TestNetwork, x: Any) -> Any:
    shape = net.trt.add_shape(x).get_output(0)
    return net.trt.add_gather(shape, net.const(np.array(0, np.int32)), 0).get_output(0)


def _running(reverse: bool, kind: Any, axis: int, concat: int | None = None) -> Any:
    """state = state * 0.5 + row; collects the states."""

    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (-1, 3))
        loop = net.trt.add_loop()
        trips = _rows(net, x)
        loop.add_trip_limit(trips, LIMIT.COUNT)
        row = loop.add_iterator(x, 0, reverse).get_output(0)
        state = loop.add_recurrence(net.const(np.zeros(3, np.float32)))
        half = net.const(np.full(3, 0.5, np.float32))
        new = _ew(net, _ew(net, state.get_output(0), half, EW.PROD), row, EW.SUM)
        state.set_input(1, new)
        net.output("last", loop.add_loop_output(state.get_output(0), OUT.LAST_VALUE))
        collected = loop.add_loop_output(new, kind, axis)
        collected.set_input(1, trips if concat is None else net.const(np.array(concat, np.int32)))
        net.output("all", collected)

    return define


def _expected(x: np.ndarray, reverse: bool) -> list[np.ndarray]:
    state, states = np.zeros(3, np.float32), []
    for row in x[::-1] if reverse else x:
        state = state * np.float32(0.5) + row
        states.append(state)
    return states


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", ["CONCATENATE", "REVERSE"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_counted_loop(reverse: bool, kind: str, axis: int) -> None:
    y = run(_running(reverse, getattr(OUT, kind), axis), x=X)
    states = _expected(X, reverse)
    np.testing.assert_array_equal(y["last"], states[-1])
    np.testing.assert_array_equal(y["all"], np.stack(states[::-1] if kind == "REVERSE" else states, axis))


def test_the_number_of_iterations_may_change_from_run_to_run_and_be_zero() -> None:
    compiled = runner(_running(False, OUT.CONCATENATE, 0), kernels="openvino")
    for rows in (4, 1, 0, 3):
        y = compiled.run({"x": X[:rows]})
        states = _expected(X[:rows], False)
        np.testing.assert_array_equal(y["last"], states[-1] if rows else np.zeros(3))
        assert y["all"].shape == (rows, 3)
        np.testing.assert_array_equal(y["all"], np.array(states).reshape(rows, 3))


def test_a_longer_concatenation_ends_in_zeros_and_a_shorter_one_is_cut() -> None:
    states = np.stack(_expected(X, False))
    longer = run(_running(False, OUT.CONCATENATE, 0, 6), x=X)["all"]
    np.testing.assert_array_equal(longer, np.concatenate([states, np.zeros((2, 3))]))
    np.testing.assert_array_equal(run(_running(False, OUT.CONCATENATE, 0, 2), x=X)["all"], states[:2])


def _collatz(limit: int | None) -> Any:
    """n -> n / 2 or 3 n + 1 while n > 1; a conditional inside of a loop."""

    def define(net: TestNetwork) -> None:
        start = net.input("n", DType.F32, ())
        loop = net.trt.add_loop()
        n, steps = loop.add_recurrence(start), loop.add_recurrence(net.const(ZERO))
        value = n.get_output(0)
        half, one, two, three = (net.const(np.array(v, np.float32)) for v in (0.5, 1, 2, 3))
        loop.add_trip_limit(_ew(net, value, one, EW.GREATER), LIMIT.WHILE)
        if limit is not None:
            loop.add_trip_limit(net.const(np.array(limit, np.int32)), LIMIT.COUNT)
        floor = net.trt.add_unary(_ew(net, value, half, EW.PROD), trt.UnaryOperation.FLOOR).get_output(0)
        odd = _ew(net, _ew(net, value, _ew(net, floor, two, EW.PROD), EW.SUB), one, EW.EQUAL)
        up, down = (lambda x: _ew(net, _ew(net, x, three, EW.PROD), one, EW.SUM)), lambda x: _ew(net, x, half, EW.PROD)
        choice = net.trt.add_if_conditional()
        choice.set_condition(odd)
        inside = choice.add_input(value).get_output(0)
        n.set_input(1, choice.add_output(up(inside), down(inside)).get_output(0))
        steps.set_input(1, _ew(net, steps.get_output(0), net.const(ONE), EW.SUM))
        net.output("last", loop.add_loop_output(n.get_output(0), OUT.LAST_VALUE))
        net.output("steps", loop.add_loop_output(steps.get_output(0), OUT.LAST_VALUE))
        seen = loop.add_loop_output(value, OUT.CONCATENATE)
        seen.set_input(1, net.const(np.array(20, np.int32)))
        net.output("seen", seen)

    return define


@pytest.mark.parametrize("limit", [None, 5])
@pytest.mark.parametrize("start", [6, 1, 7])
def test_a_while_loop_with_a_conditional_inside(limit: int | None, start: int) -> None:
    y = run(_collatz(limit), n=np.array(start, np.float32))
    n, seen = start, []
    while n > 1 and (limit is None or len(seen) < limit):
        seen.append(n)
        n = 3 * n + 1 if n % 2 else n // 2
    assert (int(y["last"]), int(y["steps"])) == (n, len(seen))
    assert y["seen"].tolist() == seen + [0] * (20 - len(seen))


def test_nested_loops() -> None:
    """The inner loop sums a row of the outer iterator, times the outer state."""

    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (4, 3))
        outer = net.trt.add_loop()
        outer.add_trip_limit(net.const(np.array(4, np.int32)), LIMIT.COUNT)
        row = outer.add_iterator(x).get_output(0)
        state = outer.add_recurrence(net.const(np.array(1, np.float32)))
        inner = net.trt.add_loop()
        inner.add_trip_limit(net.const(np.array(3, np.int32)), LIMIT.COUNT)
        element = inner.add_iterator(row).get_output(0)
        total = inner.add_recurrence(state.get_output(0))
        total.set_input(1, _ew(net, total.get_output(0), element, EW.SUM))
        state.set_input(1, inner.add_loop_output(total.get_output(0), OUT.LAST_VALUE).get_output(0))
        net.output("y", outer.add_loop_output(state.get_output(0), OUT.LAST_VALUE))

    assert float(run(define, x=X)["y"]) == 1 + X.sum()


def _choice(net: TestNetwork, condition: Any, then: Any, otherwise: Any) -> Any:
    choice = net.trt.add_if_conditional()
    choice.set_condition(condition)
    return choice.add_output(then, otherwise)


@pytest.mark.parametrize("flag", [True, False])
def test_branches_may_differ_in_size_and_share_what_they_read(flag: bool) -> None:
    def define(net: TestNetwork) -> None:
        x, condition = net.input("x", DType.F32, (-1, 3)), net.input("c", DType.BOOL, ())
        shared = net.trt.add_unary(x, trt.UnaryOperation.ABS).get_output(0)
        doubled = net.trt.add_concatenation([shared, x]).get_output(0)
        net.output("y", _choice(net, condition, doubled, net.trt.add_identity(shared).get_output(0)))

    y = run(define, x=X, c=np.array(flag))["y"]
    np.testing.assert_array_equal(y, np.concatenate([abs(X), X]) if flag else abs(X))


def test_a_branch_that_is_not_taken_does_not_run() -> None:
    """It would never end."""

    def define(net: TestNetwork) -> None:
        condition = net.input("c", DType.BOOL, ())
        x = net.input("x", DType.F32, (3,))
        choice = net.trt.add_if_conditional()
        choice.set_condition(condition)
        inside = choice.add_input(x).get_output(0)
        endless = net.trt.add_loop()
        always = endless.add_recurrence(net.const(np.array(True)))
        always.set_input(1, net.trt.add_identity(always.get_output(0)).get_output(0))
        endless.add_trip_limit(always.get_output(0), LIMIT.WHILE)
        state = endless.add_recurrence(inside)
        state.set_input(1, net.trt.add_activation(state.get_output(0), trt.ActivationType.TANH).get_output(0))
        never = endless.add_loop_output(state.get_output(0), OUT.LAST_VALUE).get_output(0)
        net.output("y", choice.add_output(never, net.trt.add_unary(inside, trt.UnaryOperation.NEG).get_output(0)))

    np.testing.assert_array_equal(run(define, x=X[0], c=np.array(False))["y"], -X[0])


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True)])
def test_nested_conditionals(flags: tuple[bool, bool]) -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.F32, (3,))
        a, b = (net.input(name, DType.BOOL, ()) for name in "ab")
        one = net.const(np.ones(3, np.float32))
        inner = _choice(net, b, _ew(net, x, one, EW.SUM), _ew(net, x, one, EW.SUB)).get_output(0)
        squared = _ew(net, inner, inner, EW.PROD)
        net.output("y", _choice(net, a, squared, net.trt.add_unary(x, trt.UnaryOperation.NEG).get_output(0)))

    a, b = flags
    y = run(define, x=X[0], a=np.array(a), b=np.array(b))["y"]
    np.testing.assert_array_equal(y, (X[0] + (1 if b else -1)) ** 2 if a else -X[0])
