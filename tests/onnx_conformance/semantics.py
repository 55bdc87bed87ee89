"""Cases for which TensorRT's parser defines another result than ONNX, each with the reason and the result to expect.

A case is put here only if the network that the parser made says so (`trtmc-build network run --layers` shows it): never
because a run came out differently. What is expected is computed here, from that reading.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import ml_dtypes
import numpy as np

from trtmc.testing.oracles.boxes import suppressed

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Otherwise:
    """`expected` computes TensorRT's outputs from the case's inputs; `allows`: any of these values will do instead."""

    reason: str
    expected: Callable[..., Arrays] | None = None
    allows: tuple[float, ...] = ()


def _attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, *_: np.ndarray, causal: bool) -> Arrays:
    times = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, times, 1).astype(np.float64) for x in (k, v))
    scores = q.astype(np.float64) @ k.swapaxes(2, 3) / np.sqrt(q.shape[3])
    if causal:
        scores = np.where(np.tri(q.shape[2], k.shape[2], dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return [((weights / weights.sum(-1, keepdims=True)) @ v).astype(q.dtype)]


def _lower_triangle(x: np.ndarray, k: np.ndarray | int = 0) -> Arrays:
    return [np.tril(x, int(k))]


def _space_to_depth(x: np.ndarray) -> Arrays:
    n, c, h, w = x.shape
    blocks = x.reshape(n, c, h // 2, 2, w // 2, 2).transpose(0, 3, 5, 1, 2, 4)
    return [blocks.reshape(n, c * 4, h // 2, w // 2)]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _steps(x: np.ndarray, size: int, step: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Arrays:
    """The first dimension is time, whatever `layout` says: [time, 1, batch, size] and [1, batch, size]."""
    state = np.zeros((x.shape[1], size))
    rows = []
    for row in x.astype(np.float64):
        state = step(row, state)
        rows.append(state)
    return [np.stack(rows)[:, None].astype(np.float32), state[None].astype(np.float32)]


def _simple_rnn(x: np.ndarray, w: np.ndarray, r: np.ndarray) -> Arrays:
    return _steps(x, r.shape[2], lambda row, h: np.tanh(row @ w[0].T + h @ r[0].T))


def _gru(x: np.ndarray, w: np.ndarray, r: np.ndarray) -> Arrays:
    (wz, wr, wh), (rz, rr, rh) = (np.split(m[0].T, 3, 1) for m in (w, r))

    def step(row: np.ndarray, h: np.ndarray) -> np.ndarray:
        update, reset = _sigmoid(row @ wz + h @ rz), _sigmoid(row @ wr + h @ rr)
        return (1 - update) * np.tanh(row @ wh + (reset * h) @ rh) + update * h

    return _steps(x, r.shape[2], step)


def _lstm(x: np.ndarray, w: np.ndarray, r: np.ndarray) -> Arrays:
    cell = np.zeros((x.shape[1], r.shape[2]))

    def step(row: np.ndarray, h: np.ndarray) -> np.ndarray:
        nonlocal cell
        take, give, forget, new = np.split(row @ w[0].T + h @ r[0].T, 4, 1)
        cell = _sigmoid(forget) * cell + _sigmoid(take) * np.tanh(new)
        return _sigmoid(give) * np.tanh(cell)

    return _steps(x, r.shape[2], step)


def _saturated(x: np.ndarray, *_: np.ndarray) -> Arrays:
    return [np.clip(x.astype(np.float32), -448, 448).astype(ml_dtypes.float8_e4m3fn)]


def _boxes(boxes: np.ndarray, scores: np.ndarray, most: np.ndarray, iou: np.ndarray, least: np.ndarray) -> Arrays:
    return [suppressed(boxes, scores.transpose(0, 2, 1), int(most[0]), float(iou[0]), float(least[0]))]


_NO_LENGTHS = "the parser drops nonpad_kv_seqlen: a causal attention over all keys, aligned at the upper left"
_NO_WINDOW = "the parser drops left_window_size and right_window_size"
_SATURATE = "the parser drops saturate: casts to float8 saturate"
_LAYOUT = "the parser drops layout: the first dimension is time"
_TRIANGLE = "the parser takes an absent attribute upper for 0, so it makes the lower triangle"

OTHERWISE: dict[str, Otherwise] = {
    **{
        f"test_attention_4d_{name}": Otherwise(_NO_LENGTHS, partial(_attention, causal=True))
        for name in (
            "causal_nonpad_batch_prefill",
            "causal_nonpad_continued_prefill",
            "causal_nonpad_negative_offset_structural_empty",
            "gqa_causal_nonpad_decode",
            "gqa_causal_nonpad_decode_fp16",
        )
    },
    "test_attention_bidirectional_window": Otherwise(_NO_WINDOW, partial(_attention, causal=False)),
    "test_attention_local_window": Otherwise(_NO_WINDOW, partial(_attention, causal=True)),
    **{
        f"test_{cast}_no_saturate_{source}_to_FLOAT8E4M3FN{form}": Otherwise(_SATURATE, _saturated)
        for cast, form in (("cast", ""), ("castlike", ""), ("castlike", "_expanded"))
        for source in ("FLOAT", "FLOAT16")
    },
    "test_gru_batchwise": Otherwise(_LAYOUT, _gru),
    "test_lstm_batchwise": Otherwise(_LAYOUT, _lstm),
    "test_simple_rnn_batchwise": Otherwise(_LAYOUT, _simple_rnn),
    "test_nonmaxsuppression_two_classes": Otherwise("TensorRT orders boxes by score across classes", _boxes),
    **{
        f"test_bernoulli_{name}_expanded": Otherwise(
            "random: TensorRT defines the distribution only", allows=(0.0, 1.0)
        )
        for name in ("double", "seed")
    },
    "test_spacetodepth_crd_mode_example": Otherwise("the parser drops mode: always DCR", _space_to_depth),
    **{
        f"test_triu{name}": Otherwise(_TRIANGLE, _lower_triangle)
        for name in ("", "_neg", "_one_row", "_out_neg_out", "_out_pos", "_pos", "_square", "_square_neg")
    },
}
