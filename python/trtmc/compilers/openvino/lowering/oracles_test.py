"""Attention, rotary embedding, cache update, quantize and dequantize against the numpy oracles, form by form."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.testing.oracles import attention as oracle
from trtmc.testing.oracles.floats import E8M0, pack
from trtmc.testing.oracles.quantize import dequantize, quantize

RNG = np.random.default_rng(14)
NORM = trt.AttentionNormalizationOp


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: str = "NONE", form: Any = NORM.SOFTMAX, **more: np.ndarray
) -> np.ndarray:
    """`more`: mask, lengths, or scale (of float8 scores)."""

    def define(net: TestNetwork) -> None:
        tensors = [
            net.input(n, DType.F32, (-1, t.shape[1], -1, t.shape[3])) for n, t in zip("qkv", (q, k, v), strict=True)
        ]
        layer = net.trt.add_attention_v2(*tensors, form, getattr(trt.CausalMaskKind, causal))
        layer.decomposable = True
        if "mask" in more:
            kind = DType.BOOL if more["mask"].dtype == bool else DType.F32
            layer.mask = net.input("mask", kind, more["mask"].shape)
        if "lengths" in more:
            layer.key_value_lengths = net.input("lengths", DType.I32, (-1,))
        if "scale" in more:
            layer.normalization_quantize_scale = net.const(more["scale"])
            layer.normalization_quantize_to_type = trt.DataType.FP8
        net.output("y", layer.get_output(0))

    given = {name: value for name, value in more.items() if name != "scale"}
    return run(define, q=q, k=k, v=v, **given)["y"]


@pytest.mark.parametrize("causal", ["NONE", "UPPER_LEFT", "LOWER_RIGHT"])
@pytest.mark.parametrize("heads", [(2, 2), (6, 2), (4, 1)])
@pytest.mark.parametrize("with_lengths", [False, True])
def test_attention_forms(causal: str, heads: tuple[int, int], with_lengths: bool) -> None:
    q, k, v = _normal(3, heads[0], 4, 8), _normal(3, heads[1], 7, 8), _normal(3, heads[1], 7, 8)
    lengths = np.array([7, 4, 5], np.int32)
    more = {"lengths": lengths} if with_lengths else {}
    expected = oracle.attention(q, k, v, causal=causal, lengths=lengths if with_lengths else None)
    np.testing.assert_allclose(_attention(q, k, v, causal, **more), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(2, 4, 3, 5), (1, 4, 3, 5), (2, 1, 3, 5), (1, 1, 3, 5)])
@pytest.mark.parametrize("kind", [bool, np.float32])
def test_attention_masks(shape: tuple[int, ...], kind: type) -> None:
    q, k, v = _normal(2, 4, 3, 8), _normal(2, 2, 5, 8), _normal(2, 2, 5, 8)
    mask = RNG.random(shape) < 0.6 if kind is bool else _normal(*shape)
    np.testing.assert_allclose(
        _attention(q, k, v, mask=mask), oracle.attention(q, k, v, mask=mask), rtol=1e-4, atol=1e-5
    )


def test_attention_whose_scores_are_rounded_to_float8() -> None:
    q, k, v = _normal(1, 2, 3, 8), _normal(1, 2, 5, 8), _normal(1, 2, 5, 8)
    y = _attention(q, k, v, "UPPER_LEFT", scale=np.array(1 / 448, np.float32))
    expected = oracle.attention(q, k, v, causal="UPPER_LEFT", quantized=("fp8", 1 / 448))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
    assert np.abs(expected - oracle.attention(q, k, v, causal="UPPER_LEFT")).max() > 1e-3


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("width", [0, 8, 4])
@pytest.mark.parametrize("by_position", [False, True])
def test_rotary(interleaved: bool, width: int, by_position: bool) -> None:
    x, half = _normal(2, 3, 4, 16), (width or 16) // 2
    shape = (20, half) if by_position else (2, 4, half)
    cos, sin, positions = _normal(*shape), _normal(*shape), RNG.integers(0, 20, (2, 4))

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, x.shape)
        layer = net.trt.add_rotary_embedding(given, net.const(cos), net.const(sin), interleaved, width)
        if by_position:
            layer.set_input(3, net.input("p", DType.I64, (2, 4)))
        net.output("y", layer)

    expected = oracle.rotated(x, cos, sin, positions if by_position else None, interleaved=interleaved, width=width)
    y = run(define, x=x, **({"p": positions} if by_position else {}))["y"]
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 3, 6])
def test_cache_update_writes_each_sequence_at_its_own_place(count: int) -> None:
    cache, update, at = _normal(4, 2, 6, 8), _normal(4, 2, count, 8), np.array([0, 2, 5, 6], np.int32)

    def define(net: TestNetwork) -> None:
        given = [net.input("cache", DType.F32, (-1, 2, 6, 8)), net.input("update", DType.F32, (-1, 2, -1, 8))]
        layer = net.trt.add_kv_cache_update(*given, net.input("at", DType.I32, (-1,)), trt.KVCacheMode.LINEAR)
        net.output("y", layer)

    y = run(define, cache=cache, update=update, at=at)["y"]
    np.testing.assert_array_equal(y, oracle.cache_updated(cache, update, at))


FORMS = [("tensor", (), None), ("channel 0", (4,), 0), ("channel 1", (64,), 1), ("block", (4, 4), None)]
KINDS = {"int8": DType.I8, "int4": DType.I4, "fp8": DType.F8_E4M3, "fp4": DType.F4_E2M1}


def _scale(shape: tuple[int, ...]) -> np.ndarray:
    return np.asarray(RNG.uniform(0.01, 0.3, shape), np.float32)


@pytest.mark.parametrize(("kind", "form"), list(product(KINDS, FORMS)))
def test_quantize(kind: str, form: tuple[str, tuple[int, ...], int | None]) -> None:
    _, shape, axis = form
    x, scale = _normal(4, 64), _scale(shape)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_quantize(net.input("x", DType.F32, x.shape), net.const(scale), getattr(trt, kind))
        if axis is not None:
            layer.axis = axis
        net.output("q", layer)

    expected = quantize(x, scale, kind, axis)
    found = run(define, x=x)["q"]
    wanted = pack(expected) if KINDS[kind].bits == 4 else expected.astype(found.dtype)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("kind", "form"), list(product(KINDS, FORMS)))
def test_dequantize(kind: str, form: tuple[str, tuple[int, ...], int | None]) -> None:
    _, shape, axis = form
    scale, bits = _scale(shape), KINDS[kind].bits
    q = quantize(_normal(4, 64) * np.float32(3), np.array(0.1, np.float32), kind)
    raw = pack(q) if bits == 4 else (q.astype(np.int8) if kind == "int8" else q)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_dequantize(net.input("q", KINDS[kind], (4, 64)), net.const(scale), trt.float32)
        if axis is not None:
            layer.axis = axis
        net.output("x", layer)

    np.testing.assert_allclose(run(define, q=raw)["x"], dequantize(q, scale, kind, axis), rtol=1e-6)


def test_float8_with_power_of_two_scales() -> None:
    q, codes = (
        quantize(_normal(4, 64), np.array(0.01, np.float32), "fp8"),
        RNG.integers(100, 140, (4, 2)).astype(np.uint8),
    )

    def define(net: TestNetwork) -> None:
        values, scales = net.input("q", DType.F8_E4M3, (4, 64)), net.input("s", DType.F8_E8M0, (4, 2))
        net.output("x", net.trt.add_dequantize(values, scales, trt.float32))

    np.testing.assert_array_equal(run(define, q=q, s=codes)["x"], dequantize(q, E8M0.decode(codes), "fp8"))
