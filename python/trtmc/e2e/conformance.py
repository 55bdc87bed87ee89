"""The conformance suite of decoder families: what any runner of any bundle must do, as functions that return metrics.

Against the oracle: greedy ids, logits, top ids. Against itself: a prompt in one go, id by id and in chunks; a second
turn that reuses the cache; a run after ``reset``; the bundle loaded again. Knows manifests and golden files; knows no
family, no builder and no test framework.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trtmc.core.errors import BadInput
from trtmc.e2e.comparators import Metric, compare_equal_logits, compare_greedy, compare_logits, compare_top1, cosine
from trtmc.e2e.goldens import Golden, GoldenTurn
from trtmc.e2e.manifest import Manifest, PrecisionSpec
from trtmc.e2e.runners import ModelRunner

#: Two ways to the same float32 logits may differ by this share of the largest logit.
SAME_LOGITS = 2e-5
#: Sequences for the self-checks are cut to this length: they are about the way, not about length.
SELF_CHECK_LENGTH = 48


@dataclass(frozen=True)
class Subject:
    """One bundle under test: the runner that answers, what it is held to, and the oracle's answers."""

    manifest: Manifest
    golden: Golden
    precision: PrecisionSpec
    runner: ModelRunner

    def turns(self) -> Iterator[tuple[str, GoldenTurn]]:
        """Every turn of every case with its name."""
        for case in self.manifest.cases:
            for index, turn in enumerate(self.golden.case(case.name).turns):
                yield f"{case.name}.{index}", turn

    def longest(self) -> GoldenTurn:
        """The turn with the most context."""
        return max((turn for _, turn in self.turns()), key=lambda turn: len(turn.prompt_ids))


Check = Callable[[Subject], list[Metric]]


def oracle_greedy(subject: Subject) -> list[Metric]:
    """Each prompt from an empty cache: the oracle's ids, where the precision promises them."""
    metrics = []
    for name, turn in subject.turns():
        subject.runner.reset()
        made = subject.runner.greedy(turn.prompt_ids, len(turn.greedy_ids))
        if subject.precision.equal_ids:
            metrics.append(compare_greedy(name, turn.greedy_ids, made))
        else:
            metrics.append(Metric(f"{name}.ids", float(len(made)), float(len(turn.greedy_ids)), at_least=True))
    return metrics


def oracle_logits(subject: Subject) -> list[Metric]:
    """Logits along the oracle's own answer: kept rows by cosine and error, every choice by its top id."""
    metrics: list[Metric] = []
    expected: list[int] = []
    margins: list[float] = []
    chosen: list[int] = []
    for name, turn in subject.turns():
        logits = subject.runner.logits([*turn.prompt_ids, *turn.greedy_ids])
        left = np.stack([row.expected() for row in turn.rows])
        right = np.stack([row.pick(logits[row.row]) for row in turn.rows])
        metrics += compare_logits(name, left, right, subject.precision.min_cosine)
        first = len(turn.prompt_ids) - 1
        chosen += [int(i) for i in logits[first : first + len(turn.greedy_ids)].argmax(-1)]
        expected += turn.greedy_ids
        margins += turn.margins
    bounds = (subject.precision.min_top1_agreement, subject.precision.min_margin)
    metrics.append(compare_top1("all", expected, margins, chosen, *bounds))
    return metrics


def one_go_or_steps(subject: Subject) -> list[Metric]:
    """A prompt in one go, id by id, and in chunks of sizes that do not divide it: the same logits."""
    ids = _sequence(subject)
    whole = subject.runner.logits(ids)
    metrics = []
    for chunk in (1, 3, 7, len(ids) - 1):
        metrics += _same(subject, f"chunks_of_{chunk}", whole, subject.runner.logits(ids, chunk))
    return metrics


def prefix_is_stable(subject: Subject) -> list[Metric]:
    """What comes later never changes an earlier row: the logits of a prefix are those of the whole sequence."""
    ids = _sequence(subject)
    whole = subject.runner.logits(ids)
    half = subject.runner.logits(ids[: len(ids) // 2])
    return _same(subject, "prefix", whole[: len(half)], half)


def second_turn(subject: Subject) -> list[Metric]:
    """A longer prompt that starts with the last context reuses the cache and answers as a fresh one does."""
    turn = subject.longest()
    runner, fresh = subject.runner, subject.runner.reload()
    metrics = []
    for extra in (1, 5):
        runner.reset()
        answer = runner.greedy(turn.prompt_ids, 8)
        prompt = [*turn.prompt_ids, *answer, *turn.prompt_ids[:extra]]
        metrics.append(compare_greedy(f"plus_{extra}", fresh.greedy(prompt, 8), runner.greedy(prompt, 8)))
        metrics.append(Metric(f"plus_{extra}.reused", runner.reused(), len(turn.prompt_ids), at_least=True))
        fresh.reset()
    return metrics


def changed_history(subject: Subject) -> list[Metric]:
    """A prompt that leaves the cached context half way answers as a fresh one does (nothing stale is read)."""
    turn = subject.longest()
    ids = list(turn.prompt_ids) + list(turn.greedy_ids)
    half = max(1, len(turn.prompt_ids) // 2)
    branch = [*ids[:half], *reversed(ids[:half])]
    runner, fresh = subject.runner, subject.runner.reload()
    runner.reset()
    runner.greedy(turn.prompt_ids, 8)
    return [compare_greedy("branch", fresh.greedy(branch, 8), runner.greedy(branch, 8))]


def after_reset(subject: Subject) -> list[Metric]:
    """The same prompt twice in a row, another one, and again after a reset: the same ids, and nothing reused then."""
    first = subject.longest()
    _, other = next(subject.turns())
    runner = subject.runner
    runner.reset()
    before = runner.greedy(first.prompt_ids, 12)
    again = runner.greedy(first.prompt_ids, 12)
    runner.greedy(other.prompt_ids, 5)
    runner.greedy(first.prompt_ids, 5)
    runner.reset()
    after = runner.greedy(first.prompt_ids, 12)
    reused = Metric("after_reset.reused", runner.reused(), 0, at_least=False)
    return [compare_greedy("again", before, again), compare_greedy("after_reset", before, after), reused]


def loaded_again(subject: Subject) -> list[Metric]:
    """The bundle loaded a second time gives bit-equal logits."""
    ids = _sequence(subject)
    return [compare_equal_logits("reload", subject.runner.logits(ids), subject.runner.reload().logits(ids), 0.0)]


#: Every check by its name; a family's test runs them all.
CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        oracle_greedy,
        oracle_logits,
        one_go_or_steps,
        prefix_is_stable,
        second_turn,
        changed_history,
        after_reset,
        loaded_again,
    )
}


def _sequence(subject: Subject) -> list[int]:
    turn = subject.longest()
    ids = [*turn.prompt_ids, *turn.greedy_ids][:SELF_CHECK_LENGTH]
    if len(ids) < 4:
        raise BadInput("e2e.case_too_short", f"{subject.manifest.path}: no case gives at least 4 ids of context")
    return ids


def _same(subject: Subject, name: str, left: NDArray[np.float32], right: NDArray[np.float32]) -> list[Metric]:
    """Float32: equal up to rounding. Lower precisions may take other kernels by length, each held to the oracle.

    Two answers within the angle a of the oracle are within 2a of each other, and cos 2a = 2 cos² a - 1.
    """
    if subject.precision.equal_ids:
        return [compare_equal_logits(name, left, right, SAME_LOGITS * float(np.abs(left).max()))]
    worst = min(cosine(a, b) for a, b in zip(left, right, strict=True))
    return [Metric(f"{name}.min_cosine", worst, 2 * subject.precision.min_cosine**2 - 1, at_least=True)]
