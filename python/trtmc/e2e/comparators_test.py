"""Each comparator is fed right answers and, more important, wrong ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trtmc.e2e import comparators as c

ROW = np.linspace(-3.0, 5.0, 101)


@pytest.mark.parametrize(
    ("actual", "leading", "passed"),
    [
        ([1, 2, 3], 3, True),
        ([1, 2, 4], 2, False),
        ([9, 2, 3], 0, False),
        ([1, 2], 2, False),
        ([], 0, False),
        ([1, 2, 3, 4], -1, False),
    ],
)
def test_greedy_ids_must_be_the_very_same(actual: list[int], leading: int, passed: bool) -> None:
    metric = c.compare_greedy("case", [1, 2, 3], actual)
    assert (metric.value, metric.passed) == (leading, passed)


def test_greedy_note_names_the_first_difference() -> None:
    assert c.compare_greedy("case", [1, 2, 3], [1, 7, 3]).note == "id 1: expected 2, found 7"
    assert c.compare_greedy("case", [1, 2, 3], [1]).note == "id 1: expected 2, found nothing"


def test_logits_equal_to_the_oracle_pass() -> None:
    assert all(metric.passed for metric in c.compare_logits("case", ROW, ROW + 1e-6, 0.99999))


@pytest.mark.parametrize(
    "wrong",
    [
        ROW + np.random.default_rng(0).normal(0, 0.1, ROW.size),
        ROW[::-1],
        ROW * 1.5,
        ROW * 0.0,
        ROW + 0.5,
        np.where(np.arange(ROW.size) == 50, np.nan, ROW),
        np.where(np.arange(ROW.size) == 50, np.inf, ROW),
        ROW[:-1],
        np.roll(ROW, 1),
    ],
    ids=["noise", "reversed", "scaled", "zeros", "shifted", "one_nan", "one_inf", "one_short", "rolled"],
)
def test_wrong_logits_fail(wrong: np.ndarray) -> None:
    assert not all(metric.passed for metric in c.compare_logits("case", ROW, wrong, 0.99999))


def test_one_wrong_row_among_good_ones_fails_and_is_named() -> None:
    expected = np.stack([ROW, ROW, ROW])
    actual = expected.copy()
    actual[1] = actual[1, ::-1]
    metric = c.compare_logits("case", expected, actual, 0.999)[0]
    assert not metric.passed
    assert metric.note == "worst row 1"


def test_a_nan_in_any_row_fails_wherever_it_is() -> None:
    for row in range(3):
        actual = np.stack([ROW, ROW, ROW])
        actual[row, 4] = np.nan
        metrics = c.compare_logits("case", np.stack([ROW, ROW, ROW]), actual, 0.9)
        assert not any(metric.passed for metric in metrics)


def test_top1_counts_only_clear_positions() -> None:
    metric = c.compare_top1("case", [1, 2, 3], [1.0, 0.05, 1.0], [1, 9, 3], 0.99, 0.1)
    assert metric.passed
    assert metric.value == 1.0


@pytest.mark.parametrize(
    ("margins", "actual"),
    [([1.0, 1.0, 1.0], [1, 9, 3]), ([0.0, 0.0, 0.0], [1, 2, 3]), ([1.0, 1.0], [1, 2, 3]), ([1.0] * 3, [1, 2])],
    ids=["wrong_id", "nothing_compared", "margins_missing", "answers_missing"],
)
def test_top1_fails(margins: list[float], actual: list[int]) -> None:
    assert not c.compare_top1("case", [1, 2, 3], margins, actual, 0.99, 0.1).passed


@pytest.mark.parametrize("wrong", [ROW + 2e-3, ROW[:-1], np.full_like(ROW, np.nan), np.array([])])
def test_two_ways_that_differ_fail(wrong: np.ndarray) -> None:
    assert c.compare_equal_logits("case", ROW, ROW + 1e-5, 1e-4).passed
    assert not c.compare_equal_logits("case", ROW, wrong, 1e-4).passed


def test_a_nan_metric_never_passes_in_either_direction() -> None:
    assert not c.Metric("m", math.nan, 0.0, at_least=True).passed
    assert not c.Metric("m", math.nan, 0.0, at_least=False).passed


def test_the_sentence_tells_value_bound_and_verdict() -> None:
    assert c.Metric("m", 0.5, 0.9, at_least=True, note="n").sentence() == "FAILED: m is 0.5, wanted ≥ 0.9 (n)"
