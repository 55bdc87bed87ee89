"""Fill layers: linear spaces exactly, random values by their distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run, runner
from trtmc.core.dtype import DType


def test_linear_fill() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_fill((1,), trt.FillOperation.LINSPACE, trt.int64)
        layer.set_input(0, net.input("dims", DType.I64, (1,)))
        layer.set_input(1, net.const(np.array(5, np.int64)))
        layer.set_input(2, net.const(np.array([3], np.int64)))
        net.output("y", layer)

    assert run(define, dims=np.array([4]))["y"].tolist() == [5, 8, 11, 14]


def _random(operation: Any, alpha: float, beta: float, name: str = "noise") -> Any:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_fill((1,), operation, trt.float32)
        layer.name = name
        layer.set_input(0, net.input("dims", DType.I64, (2,)))
        layer.set_input(1, net.const(np.array(alpha, np.float32)))
        layer.set_input(2, net.const(np.array(beta, np.float32)))
        net.output("y", layer)

    return define


DIMS = np.array([200, 250])


def test_uniform_values() -> None:
    y = run(_random(trt.FillOperation.RANDOM_UNIFORM, -1, 3), dims=DIMS)["y"]
    assert y.shape == (200, 250)
    assert -1 <= y.min() < -0.99
    assert 2.99 < y.max() < 3
    counts = np.histogram(y, 8, (-1, 3))[0]
    assert np.abs(counts - y.size / 8).max() < 5 * np.sqrt(y.size / 8)


def test_normal_values() -> None:
    y = run(_random(trt.FillOperation.RANDOM_NORMAL, 2, 0.5), dims=DIMS)["y"].reshape(-1).astype(np.float64)
    z = (y - 2) / 0.5
    assert abs(z.mean()) < 0.02
    assert abs(z.std() - 1) < 0.02
    assert abs((z**4).mean() - 3) < 0.15
    assert abs(np.corrcoef(z[:-1], z[1:])[0, 1]) < 0.02
    assert np.isfinite(y).all()


def test_layers_of_other_names_draw_other_values_and_a_network_draws_the_same_ones_again() -> None:
    define = _random(trt.FillOperation.RANDOM_UNIFORM, 0, 1)
    one, again = (runner(define, kernels="openvino").run({"dims": DIMS})["y"] for _ in range(2))
    np.testing.assert_array_equal(one, again)
    other = run(_random(trt.FillOperation.RANDOM_UNIFORM, 0, 1, "other noise"), dims=DIMS)["y"]
    assert not np.array_equal(one, other)


def test_alpha_and_beta_may_be_attributes() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_fill((1000,), trt.FillOperation.RANDOM_UNIFORM, trt.float32)
        layer.alpha, layer.beta = 5, 6
        net.output("y", layer)

    y = run(define)["y"]
    assert 5 <= y.min() < y.max() < 6
