"""Rotary embedding, cache update and attention layers in standard operations, against the numpy reference.

Oracles here are loops over batch, head and position: slow and plain.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino import reference
from trtmc.compilers.openvino.graph.graph import Graph, Tensor
from trtmc.compilers.openvino.lowering.table import lower
from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

RNG = np.random.default_rng(5)
KIND, NORM = trt.CausalMaskKind, trt.AttentionNormalizationOp


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("turned", [8, 4])
def test_rotary_with_positions(interleaved: bool, turned: int) -> None:
    x, cos, sin = _normal(2, 3, 5, 8), _normal(16, turned // 2), _normal(16, turned // 2)
    positions = np.array([[3, 4, 5, 6, 7], [0, 9, 2, 15, 1]])

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 3, -1, 8))
        layer = net.trt.add_rotary_embedding(given, net.const(cos), net.const(sin), interleaved, turned)
        layer.set_input(3, net.input("p", DType.I64, (-1, -1)))
        net.output("y", layer)

    style = "interleaved" if interleaved else "half"
    expected = reference.rotate(x.swapaxes(1, 2), positions, cos, sin, style).swapaxes(1, 2)
    np.testing.assert_allclose(run(define, x=x, p=positions)["y"], expected, rtol=1e-5, atol=1e-6)


def test_rotary_with_tables_per_row() -> None:
    x, cos, sin = _normal(2, 3, 5, 8), _normal(2, 5, 4), _normal(2, 5, 4)

    def define(net: TestNetwork) -> None:
        tables = (net.input(n, DType.F32, (2, 5, 4)) for n in ("c", "s"))
        net.output("y", net.trt.add_rotary_embedding(net.input("x", DType.F32, (2, 3, 5, 8)), *tables, False, 0))

    a, b, c, s = x[..., :4], x[..., 4:], cos[:, None], sin[:, None]
    expected = np.concatenate([a * c - b * s, b * c + a * s], -1)
    np.testing.assert_allclose(run(define, x=x, c=cos, s=sin)["y"], expected, rtol=1e-5, atol=1e-6)


def test_cache_update_per_sequence_drops_what_lies_past_the_end() -> None:
    cache, update, at = _normal(3, 2, 6, 4), _normal(3, 2, 3, 4), np.array([0, 2, 5], np.int32)

    def define(net: TestNetwork) -> None:
        given = net.input("cache", DType.F32, (-1, 2, 6, 4)), net.input("update", DType.F32, (-1, 2, -1, 4))
        net.output("y", net.trt.add_kv_cache_update(*given, net.input("at", DType.I32, (-1,)), trt.KVCacheMode.LINEAR))

    expected = cache.copy()
    for b in range(3):
        for s in range(3):
            if at[b] + s < 6:
                expected[b, :, at[b] + s] = update[b, :, s]
    np.testing.assert_array_equal(run(define, cache=cache, update=update, at=at)["y"], expected)


def _oracle(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray, bias: np.ndarray | None = None
) -> np.ndarray:
    """Per element, head and query; `seen` [B, T, S] says which keys take part."""
    out = np.zeros(q.shape, np.float64)
    group = q.shape[1] // k.shape[1]
    for b, h, t in np.ndindex(*q.shape[:3]):
        keys = np.flatnonzero(seen[b, t])
        scores = k[b, h // group, keys].astype(np.float64) @ q[b, h, t]
        scores += 0 if bias is None else bias[b, 0, t, keys]
        weights = np.exp(scores - scores.max())
        out[b, h, t] = weights / weights.sum() @ v[b, h // group, keys]
    return out


def _attention(
    heads: tuple[int, int],
    causal: str,
    rows: tuple[int, int],
    lengths: np.ndarray | None = None,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    q, k, v = _normal(2, heads[0], rows[0], 8), _normal(2, heads[1], rows[1], 8), _normal(2, heads[1], rows[1], 8)

    def define(net: TestNetwork) -> None:
        query, key, value = (
            net.input(n, DType.F32, (-1, x.shape[1], -1, 8)) for n, x in (("q", q), ("k", k), ("v", v))
        )
        layer = net.trt.add_attention_v2(query, key, value, NORM.SOFTMAX, getattr(KIND, causal))
        layer.decomposable = True
        if lengths is not None:
            layer.key_value_lengths = net.input("n", DType.I32, (-1,))
        if mask is not None:
            layer.mask = net.input("m", DType.BOOL if mask.dtype == bool else DType.F32, (-1, 1, -1, -1))
        net.output("y", layer.get_output(0))

    extra = {name: x for name, x in (("n", lengths), ("m", mask)) if x is not None}
    return run(define, q=q, k=k, v=v, **extra)["y"], (q, k, v)


@pytest.mark.parametrize("heads", [(6, 6), (6, 2), (6, 1)], ids=["mha", "gqa", "mqa"])
@pytest.mark.parametrize("lengths", [(7, 5), (9, 3)])
def test_lower_right_with_lengths_has_its_corner_at_the_valid_length(
    heads: tuple[int, int], lengths: tuple[int, int]
) -> None:
    n = np.array(lengths, np.int32)
    y, (q, k, v) = _attention(heads, "LOWER_RIGHT", (3, 9), n)
    seen = np.arange(9)[None, None, :] <= np.arange(3)[None, :, None] + n[:, None, None] - 3
    np.testing.assert_allclose(y, _oracle(q, k, v, seen), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("causal", "offset"), [("UPPER_LEFT", 0), ("LOWER_RIGHT", 4)])
def test_causal_without_lengths(causal: str, offset: int) -> None:
    y, (q, k, v) = _attention((4, 2), causal, (3, 7))
    seen = np.arange(7)[None, None, :] <= np.arange(3)[None, :, None] + offset
    np.testing.assert_allclose(y, _oracle(q, k, v, np.broadcast_to(seen, (2, 3, 7))), rtol=1e-5, atol=1e-6)


def test_no_mask_and_lengths_alone() -> None:
    y, (q, k, v) = _attention((4, 2), "NONE", (3, 7))
    np.testing.assert_allclose(y, _oracle(q, k, v, np.ones((2, 3, 7), bool)), rtol=1e-5, atol=1e-6)
    n = np.array([2, 6], np.int32)
    y, (q, k, v) = _attention((4, 2), "NONE", (3, 7), n)
    seen = np.broadcast_to(np.arange(7)[None, None, :] < n[:, None, None], (2, 3, 7))
    np.testing.assert_allclose(y, _oracle(q, k, v, seen), rtol=1e-5, atol=1e-6)


def test_a_query_without_any_key_gives_zeros() -> None:
    mask = np.ones((2, 1, 3, 4), bool)
    mask[1, 0, 2] = False
    y, (q, k, v) = _attention((4, 2), "NONE", (3, 4), mask=mask)
    assert not y[1, :, 2].any()
    np.testing.assert_allclose(y[0], _oracle(q, k, v, mask[:, 0] | True)[0], rtol=1e-5, atol=1e-6)
    y, _ = _attention((4, 2), "LOWER_RIGHT", (3, 4), np.array([1, 2], np.int32))
    assert [bool(row.any()) for row in y[0, 0]] == [False, False, True]


def test_bool_and_float_masks() -> None:
    mask = np.tril(np.ones((2, 1, 4, 6), bool), 1)
    mask[1, 0, :, 0] = False
    mask[1, 0, :, 1] = True
    y, (q, k, v) = _attention((4, 4), "NONE", (4, 6), mask=mask)
    np.testing.assert_allclose(y, _oracle(q, k, v, mask[:, 0]), rtol=1e-5, atol=1e-6)
    bias = _normal(2, 1, 4, 6)
    y, (q, k, v) = _attention((4, 4), "NONE", (4, 6), mask=bias)
    np.testing.assert_allclose(y, _oracle(q, k, v, np.ones((2, 4, 6), bool), bias), rtol=1e-5, atol=1e-6)


def test_attention_without_softmax() -> None:
    q, k, v = (_normal(1, 2, 3, 4) for _ in range(3))

    def define(net: TestNetwork) -> None:
        tensors = [net.input(n, DType.F32, (-1, 2, -1, 4)) for n in "qkv"]
        layer = net.trt.add_attention_v2(*tensors, NORM.NONE, KIND.UPPER_LEFT)
        layer.decomposable = True
        net.output("y", layer.get_output(0))

    scores = np.tril(np.einsum("bhtd,bhsd->bhts", q, k))
    np.testing.assert_allclose(run(define, q=q, k=k, v=v)["y"], scores @ v, rtol=1e-5, atol=1e-5)


def test_a_mask_over_packed_rows_is_refused_by_name() -> None:
    graph = Graph()
    tensors = [Tensor(n, DType.F32, (-1, 2, 4)) for n in "qkv"]
    mask, lengths = Tensor("mask", DType.BOOL, (1, 1, -1, -1)), Tensor("lengths", DType.I32, (-1,))
    graph.inputs = [*tensors, mask, lengths]
    attributes = {"query_form": "PACKED_NHD", "key_value_form": "PACKED_NHD", "num_ranks": 1, "causal_kind": "NONE"}
    inputs = [*tensors, mask, lengths, lengths, None]
    output = graph.new("ATTENTION_OUTPUT", "packed", inputs, DType.F32, (-1, 2, 4), attributes)
    graph.outputs, graph.output_names, graph.output_dtypes = [output], ["y"], [DType.F32]
    with pytest.raises(Unsupported, match=r"'packed' \(ATTENTION_OUTPUT\): a mask over packed rows"):
        lower(graph, {})
