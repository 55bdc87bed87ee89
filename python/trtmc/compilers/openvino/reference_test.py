"""The numpy reference itself, against values worked out by hand: rounding, edges, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from trtmc.compilers.openvino import reference as r

F = np.float32


def test_bfloat16_rounds_halves_to_even() -> None:
    ulp = 2.0**-7  # of bfloat16 at 1.0
    x = np.array([1 + ulp / 2, 1 + 3 * ulp / 2, 1 + 0.51 * ulp, -1 - ulp / 2, 0.0], F)
    assert r.to_bfloat16(x).tolist() == [1.0, 1 + 2 * ulp, 1 + ulp, -1.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "raw", "expected"),
    [("f16", [0x3C00, 0xC000], [1.0, -2.0]), ("bf16", [0x3F80, 0xC000], [1.0, -2.0])],
)
def test_weights_are_read_exactly(kind: str, raw: list[int], expected: list[float]) -> None:
    data = np.array(raw, np.uint16).view(np.uint8)
    assert r.weight_matrix(data, kind, 1, 2).tolist() == [expected]


def test_rms_norm_takes_each_block_by_itself() -> None:
    y = r.rms_norm(np.array([[3, 4, 0, 5]], F), np.array([1, 2], F), 0.0)
    root = np.sqrt(12.5)
    np.testing.assert_allclose(y, [[3 / root, 8 / root, 0, 2 * np.sqrt(2)]], rtol=1e-6)
    assert np.isfinite(r.rms_norm(np.full((1, 2), 1e30, F), np.ones(2, F), 1e-5)).all(), "squares must not overflow"


def test_linear_adds_bias_and_residual() -> None:
    x, w = np.array([[1, 2]], F), np.array([[1, 0], [1, 1], [0, -1]], F)
    assert r.linear(x, w).tolist() == [[1, 3, -2]]
    assert r.linear(x, w, np.array([1, 1, 1], F), np.array([[10, 20, 30]], F)).tolist() == [[12, 24, 29]]
    assert r.linear(np.array([[1 + 2.0**-9]], F), np.array([[1]], F), compute="bf16").tolist() == [[1.0]]


def test_activations_at_known_points() -> None:
    gate, up = np.array([0.0, 1.0, -1.0], F), np.array([1.0, 2.0, 2.0], F)
    silu = 2 / (1 + np.e)
    np.testing.assert_allclose(r.gated_activation(gate, up, "silu"), [0, 2 - silu, -silu], rtol=1e-6)
    np.testing.assert_allclose(r.gated_activation(gate, up, "gelu"), [0, 1.6826895, -0.3173105], rtol=1e-6)
    np.testing.assert_allclose(r.gated_activation(gate, up, "gelu_tanh"), [0, 1.6823840, -0.3176160], rtol=1e-6)
    np.testing.assert_allclose(r.gated_activation(gate, up, "quick_gelu"), [0, 1.6915915, -0.3084085], rtol=1e-6)
    np.testing.assert_allclose(r.gated_activation(gate, up, "mish"), [0, 1.7301968, -0.6068029], rtol=1e-6)
    assert r.gated_activation(gate, up, "relu").tolist() == [0, 2, 0]
    with pytest.raises(ValueError, match="swoosh"):
        r.gated_activation(gate, up, "swoosh")


@pytest.mark.parametrize(("style", "expected"), [("half", [-3, 2, 1, 4, 9]), ("interleaved", [-2, 1, 3, 4, 9])])
def test_rotation_by_a_quarter_turn_of_the_first_pair(style: str, expected: list[float]) -> None:
    x = np.array([1, 2, 3, 4, 9], F).reshape(1, 1, 1, 5)
    cos, sin = np.array([[0, 1]], F), np.array([[1, 0]], F)
    assert r.rotate(x, np.array([[0]]), cos, sin, style).reshape(-1).tolist() == expected


def test_cache_rows_go_to_each_sequence_and_never_past_the_end() -> None:
    cache = np.zeros((2, 1, 4, 1), F)
    r.update_cache(cache, np.array([[[[1]], [[2]]], [[[3]], [[4]]]], F), np.array([0, 2]))
    assert cache[:, 0, :, 0].tolist() == [[1, 2, 0, 0], [0, 0, 3, 4]]
    with pytest.raises(IndexError, match=r"3\.\.5"):
        r.update_cache(cache, np.zeros((2, 2, 1, 1), F), np.array([0, 3]))


def test_attention_corner_window_groups_and_empty_rows() -> None:
    k = np.zeros((1, 1, 4, 1), F)
    v = np.array([1, 2, 4, 8], F).reshape(1, 1, 4, 1)
    q = np.zeros((1, 2, 2, 1), F)  # zero scores: the mean of what is seen
    at = [r.attend(q, k, v, np.array([n]), 1.0)[0, :, :, 0].tolist() for n in (3, 1)]
    assert at[0] == [[1.5, 1.5], [pytest.approx(7 / 3)] * 2]
    assert at[1] == [[0, 0], [1, 1]], "a query before the first key sees nothing and gives zeros"
    assert r.attend(q, k, v, np.array([4]), 1.0, window=2)[0, :, 0, 0].tolist() == [3, 6]


def test_lookups_refuse_what_is_outside() -> None:
    table = np.eye(3, dtype=F)
    for ids in ([3], [-1]):
        with pytest.raises(IndexError, match="outside a table of 3 rows"):
            r.embedding_gather(np.array(ids), table)
        with pytest.raises(IndexError, match="outside the 3 rows"):
            r.gather_rows(table, np.array(ids))
    assert r.gather_rows(np.arange(8, dtype=F).reshape(2, 2, 2), np.array([3, 0])).tolist() == [[6, 7], [0, 1]]
