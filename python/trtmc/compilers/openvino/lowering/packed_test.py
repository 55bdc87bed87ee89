"""Packed attention and packed cache updates: sequence by sequence the same as the padded oracle."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.testing.oracles import attention as oracle

RNG = np.random.default_rng(16)
PACKED, PADDED = trt.AttentionIOForm.PACKED_NHD, trt.AttentionIOForm.PADDED_BHND
QUERIES, KEYS = (2, 0, 4), (5, 3, 4)  # rows of three sequences
WIDTH = 8


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _cumulative(counts: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)


def _packed(rows: list[np.ndarray], spare: int) -> np.ndarray:
    """[heads, n, width] each -> [tokens, heads, width], with some tokens behind the last sequence."""
    return np.concatenate([*(r.transpose(1, 0, 2) for r in rows), _normal(spare, rows[0].shape[0], WIDTH)])


def _padded(rows: list[np.ndarray], size: int) -> np.ndarray:
    out = _normal(len(rows), rows[0].shape[0], size, WIDTH)
    for b, row in enumerate(rows):
        out[b, :, : row.shape[1]] = row
    return out


@pytest.mark.parametrize("causal", ["NONE", "UPPER_LEFT", "LOWER_RIGHT"])
@pytest.mark.parametrize("packed_keys", [True, False])
@pytest.mark.parametrize("key_heads", [4, 2])
def test_packed_queries(causal: str, packed_keys: bool, key_heads: int) -> None:
    qs = [_normal(4, n, WIDTH) for n in QUERIES]
    ks, vs = ([_normal(key_heads, n, WIDTH) for n in KEYS] for _ in "kv")
    q = _packed(qs, 1)
    k, v = (_packed(rows, 2) if packed_keys else _padded(rows, 6) for rows in (ks, vs))
    key_lengths = _cumulative(KEYS) if packed_keys else np.array(KEYS, np.int32)

    def define(net: TestNetwork) -> None:
        given = [net.input("q", DType.F32, (-1, 4, WIDTH))]
        shape = (-1, key_heads, WIDTH) if packed_keys else (-1, key_heads, -1, WIDTH)
        given += [net.input(n, DType.F32, shape) for n in "kv"]
        layer = net.trt.add_attention_v2(
            *given, trt.AttentionNormalizationOp.SOFTMAX, getattr(trt.CausalMaskKind, causal)
        )
        layer.decomposable = True
        layer.query_form, layer.key_value_form = PACKED, PACKED if packed_keys else PADDED
        layer.query_lengths = net.input("nq", DType.I32, (-1,))
        layer.key_value_lengths = net.input("nk", DType.I32, (-1,))
        net.output("y", layer.get_output(0))

    y = run(define, q=q, k=k, v=v, nq=_cumulative(QUERIES), nk=key_lengths)["y"]
    at = 0
    for query, key, value in zip(qs, ks, vs, strict=True):
        expected = oracle.attention(query[None], key[None], value[None], causal=causal)[0].transpose(1, 0, 2)
        np.testing.assert_allclose(y[at : at + len(expected)], expected, rtol=1e-4, atol=1e-5)
        at += len(expected)
    assert not y[at:].any(), "rows behind the last sequence"


def test_a_packed_cache_update() -> None:
    cache, at = _normal(3, 2, 6, WIDTH), np.array([1, 0, 4], np.int32)
    updates = [_normal(2, n, WIDTH) for n in QUERIES]  # the third runs past the end

    def define(net: TestNetwork) -> None:
        given = [net.input("cache", DType.F32, (-1, 2, 6, WIDTH)), net.input("update", DType.F32, (-1, 2, WIDTH))]
        layer = net.trt.add_kv_cache_update(*given, net.input("at", DType.I32, (-1,)), trt.KVCacheMode.LINEAR)
        layer.update_form = PACKED
        layer.update_lengths = net.input("n", DType.I32, (-1,))
        net.output("y", layer)

    y = run(define, cache=cache, update=_packed(updates, 1), at=at, n=_cumulative(QUERIES))["y"]
    for b, update in enumerate(updates):
        one = oracle.cache_updated(cache[b : b + 1], update[None], at[b : b + 1])
        np.testing.assert_array_equal(y[b : b + 1], one)
