"""Comparators: turn (what the oracle says, what we got) into metrics that pass or fail.

They know numbers and thresholds; they know nothing of models, files or runtimes. Every one of them can fail, and
``comparators_test.py`` feeds each a wrong answer to prove it.

    >>> compare_greedy("hello", [3, 4, 5], [3, 4, 5]).passed
    True
    >>> compare_greedy("hello", [3, 4, 5], [3, 4, 6]).value
    2.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


@dataclass(frozen=True)
class Metric:
    """One measured figure with the bound that it was held to.

    ``at_least`` tells the direction: value ≥ threshold when true, value ≤ threshold otherwise. A NaN never passes.
    """

    name: str
    value: float
    threshold: float
    at_least: bool
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether the value keeps its bound."""
        if math.isnan(self.value):
            return False
        return self.value >= self.threshold if self.at_least else self.value <= self.threshold

    def sentence(self) -> str:
        """What a person reads when it failed (or did not)."""
        sign = "≥" if self.at_least else "≤"
        verdict = "ok" if self.passed else "FAILED"
        note = f" ({self.note})" if self.note else ""
        return f"{verdict}: {self.name} is {self.value:.8g}, wanted {sign} {self.threshold:.8g}{note}"


def compare_greedy(name: str, expected: Sequence[int], actual: Sequence[int]) -> Metric:
    """Greedy ids must be the very same; the value is the number of leading equal ids.

    An answer that is too long fails as one that is too short does.
    """
    equal = leading_equal(expected, actual)
    note = ""
    if equal < len(expected):
        got = actual[equal] if equal < len(actual) else "nothing"
        note = f"id {equal}: expected {expected[equal]}, found {got}"
    elif len(actual) > len(expected):
        note = f"{len(actual) - len(expected)} ids too many"
        equal = -1
    return Metric(f"{name}.leading_equal_ids", float(equal), float(len(expected)), at_least=True, note=note)


def leading_equal(expected: Sequence[int], actual: Sequence[int]) -> int:
    """How many ids from the start are the same in both."""
    count = 0
    for left, right in zip(expected, actual, strict=False):
        if left != right:
            break
        count += 1
    return count


def cosine(expected: Floats, actual: Floats) -> float:
    """Cosine of two vectors in double precision; NaN where it has no meaning (a zero vector, a NaN, other sizes)."""
    left = np.asarray(expected, dtype=np.float64).ravel()
    right = np.asarray(actual, dtype=np.float64).ravel()
    if left.shape != right.shape or left.size == 0:
        return math.nan
    norms = float(np.linalg.norm(left) * np.linalg.norm(right))
    if not math.isfinite(norms) or norms == 0.0:
        return math.nan
    return float(left @ right) / norms


def relative_error(expected: Floats, actual: Floats) -> float:
    """Length of the difference over the length of the expected vector; NaN where it has no meaning."""
    left = np.asarray(expected, dtype=np.float64).ravel()
    right = np.asarray(actual, dtype=np.float64).ravel()
    if left.shape != right.shape or left.size == 0:
        return math.nan
    length = float(np.linalg.norm(left))
    return float(np.linalg.norm(left - right)) / length if length > 0 else math.nan


def compare_logits(name: str, expected: Floats, actual: Floats, min_cosine: float) -> list[Metric]:
    """Rows of logits against the oracle's: the worst row's cosine, and the worst row's relative error.

    A cosine alone accepts logits that were scaled, so the second bound follows from the first: two vectors of one
    length with cosine c differ by sqrt(2 - 2c) of it.
    """
    left, right = np.atleast_2d(expected), np.atleast_2d(actual)
    bound = math.sqrt(2.0 - 2.0 * min_cosine)
    if left.shape != right.shape:
        note = f"shape: expected {list(left.shape)}, found {list(right.shape)}"
        return [Metric(f"{name}.min_cosine", math.nan, min_cosine, at_least=True, note=note)]
    cosines = [cosine(a, b) for a, b in zip(left, right, strict=True)]
    errors = [relative_error(a, b) for a, b in zip(left, right, strict=True)]
    # min() and max() would skip a NaN depending on its place; numpy's keep it.
    worst = int(np.argmin(np.nan_to_num(cosines, nan=-2.0)))
    return [
        Metric(f"{name}.min_cosine", float(np.min(cosines)), min_cosine, at_least=True, note=f"worst row {worst}"),
        Metric(f"{name}.max_relative_error", float(np.max(errors)), bound, at_least=False),
    ]


def compare_top1(
    name: str,
    expected: Sequence[int],
    margins: Sequence[float],
    actual: Sequence[int],
    min_agreement: float,
    min_margin: float,
) -> Metric:
    """Share of positions with the oracle's top id, among those where the oracle's first two differ by ``min_margin``.

    No such position at all is a failure, not a success: the comparison would have been empty.
    """
    metric = f"{name}.top1_agreement"
    if not len(expected) == len(margins) == len(actual):
        note = f"lengths differ: {len(expected)} ids, {len(margins)} margins, {len(actual)} answers"
        return Metric(metric, math.nan, min_agreement, at_least=True, note=note)
    clear = [index for index, margin in enumerate(margins) if margin > min_margin]
    if not clear:
        return Metric(metric, math.nan, min_agreement, at_least=True, note=f"no margin is above {min_margin}")
    agreed = sum(1 for index in clear if expected[index] == actual[index])
    return Metric(metric, agreed / len(clear), min_agreement, at_least=True, note=f"{len(clear)} positions compared")


def compare_equal_logits(name: str, left: Floats, right: Floats, max_difference: float) -> Metric:
    """Two ways to the same logits (one go, token by token …): the largest absolute difference."""
    a, b = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if a.shape != b.shape or a.size == 0:
        note = f"shape: {list(a.shape)} against {list(b.shape)}"
        return Metric(f"{name}.max_difference", math.nan, max_difference, at_least=False, note=note)
    return Metric(f"{name}.max_difference", float(np.max(np.abs(a - b))), max_difference, at_least=False)
