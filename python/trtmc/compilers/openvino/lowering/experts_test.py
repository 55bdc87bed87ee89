"""Mixtures of experts against the numpy oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.testing.oracles.experts import Experts

RNG = np.random.default_rng(13)
COUNT, HIDDEN, INNER, PICKED = 5, 8, 12, 2


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


PLAIN = Experts(_normal(COUNT, HIDDEN, INNER), _normal(COUNT, HIDDEN, INNER), _normal(COUNT, INNER, HIDDEN))
BIASED = replace(PLAIN, biases=(_normal(COUNT, INNER), _normal(COUNT, INNER), _normal(COUNT, HIDDEN)))
X, SCORES = _normal(2, 3, HIDDEN), np.abs(_normal(2, 3, PICKED))
SELECTED = RNG.integers(0, COUNT, (2, 3, PICKED)).astype(np.int32)
SELECTED[0, 0] = 4  # the same expert twice


def _define(experts: Experts) -> Any:
    def define(net: TestNetwork) -> None:
        x, scores = (net.input(n, DType.F32, (-1, -1, w)) for n, w in (("x", HIDDEN), ("scores", PICKED)))
        layer = net.trt.add_moe(x, net.input("selected", DType.I32, (-1, -1, PICKED)), scores)
        weights = (net.const(w) for w in (experts.gate, experts.up, experts.down))
        layer.set_gated_weights(*weights, trt.MoEActType.SILU)
        if experts.biases is not None:
            layer.set_gated_biases(*map(net.const, experts.biases))
        if (experts.limit, experts.alpha, experts.beta) != (float("inf"), 1.0, 0.0):
            layer.set_swiglu_params(experts.limit, experts.alpha, experts.beta)
        if experts.quantized is not None:
            scale = net.const(np.array(experts.quantized[1], np.float32))
            layer.set_quantization_static(scale, trt.DataType.FP8)
        net.output("y", layer)

    return define


@pytest.mark.parametrize(
    "experts",
    [PLAIN, BIASED, replace(BIASED, limit=1.5, alpha=1.702, beta=1.0), replace(PLAIN, quantized=("fp8", 0.05))],
    ids=["plain", "biased", "clamped", "quantized"],
)
def test_against_the_oracle(experts: Experts) -> None:
    y = run(_define(experts), x=X, selected=SELECTED, scores=SCORES)["y"]
    np.testing.assert_allclose(y, experts.run(X, SELECTED, SCORES), rtol=2e-4, atol=2e-5)


def test_an_expert_that_nobody_selects_leaves_no_trace() -> None:
    """Its weights overflow."""
    gate = PLAIN.gate.copy()
    gate[0] = 1e38
    chosen = np.where(SELECTED == 0, 1, SELECTED).astype(np.int32)
    experts = replace(PLAIN, gate=gate)
    y = run(_define(experts), x=X, selected=chosen, scores=SCORES)["y"]
    np.testing.assert_allclose(y, PLAIN.run(X, chosen, SCORES), rtol=2e-4, atol=2e-5)
