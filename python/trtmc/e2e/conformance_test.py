"""The suite's own test: a right runner passes every check, each fault is caught by the check made for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from trtmc.e2e.conformance import CHECKS, Subject
from trtmc.e2e.goldens import Golden, GoldenCase, GoldenTurn, make_row
from trtmc.e2e.manifest import CaseSpec, CheckpointKind, CheckpointSpec, Manifest, PrecisionSpec

VOCAB = 13
FP32 = PrecisionSpec("fp32", 0.99999, True, 1.0, 0.0)
BF16 = PrecisionSpec("bf16", 0.999, False, 0.99, 0.1)


def row_after(ids: Sequence[int]) -> NDArray[np.float32]:
    """A model in one line: logits that depend on the whole history."""
    return np.random.default_rng([7, *ids]).normal(0, 3, VOCAB).astype(np.float32)


def truth(ids: Sequence[int], count: int) -> list[int]:
    made: list[int] = []
    while len(made) < count:
        made.append(int(row_after([*ids, *made]).argmax()))
    return made


@dataclass
class ToyRunner:
    """Right by default; each flag breaks one promise."""

    name: str = "toy"
    noise: float = 0.0
    scale: float = 1.0
    forget_in_chunks: bool = False
    peek: bool = False
    stale_after_branch: bool = False
    reset_does_nothing: bool = False
    never_reuses: bool = False
    wrong_on_reuse: bool = False
    worse_after_reload: bool = False
    constant_ids: bool = False
    held: list[int] = field(default_factory=list)
    kept: int = 0

    def logits(self, ids: Sequence[int], chunk: int = 0) -> NDArray[np.float32]:
        size = chunk if chunk and self.forget_in_chunks else len(ids)
        rows = [row_after(ids[i - i % size : i + 1]) for i in range(len(ids))]
        if self.peek:
            rows = [row + np.float32(0.01 * (len(ids) - i)) for i, row in enumerate(rows)]
        noise = np.random.default_rng(3).normal(0, 1, (len(ids), VOCAB)) * self.noise
        return (np.stack(rows) * self.scale + noise).astype(np.float32)

    def greedy(self, ids: Sequence[int], new_tokens: int) -> list[int]:
        common = 0
        while common < min(len(self.held), len(ids) - 1) and self.held[common] == ids[common]:
            common += 1
        stale = self.stale_after_branch and 0 < common < len(self.held)
        wrong = stale or (self.wrong_on_reuse and common > 0)
        self.kept = 0 if self.never_reuses else common
        made = truth([5, *ids] if wrong else ids, new_tokens)
        self.held = [*ids, *made[:-1]]
        return [3] * new_tokens if self.constant_ids else made

    def reused(self) -> int:
        return self.kept

    def reset(self) -> None:
        if not self.reset_does_nothing:
            self.held = []

    def reload(self) -> ToyRunner:
        return ToyRunner(noise=self.noise + (1e-4 if self.worse_after_reload else 0.0), scale=self.scale)


def subject(runner: ToyRunner, precision: PrecisionSpec = FP32) -> Subject:
    prompts = {"short": [4], "long": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}
    cases = []
    for name, ids in prompts.items():
        answer = truth(ids, 16)
        rows = [row_after([*ids, *answer][: i + 1]) for i in range(len(ids) + len(answer))]
        chosen = np.sort(np.stack(rows[len(ids) - 1 : -1]), axis=-1)
        margins = tuple(float(high - low) for low, high in chosen[:, -2:])
        kept = tuple(make_row(i, rows[i]) for i in (0, len(ids) - 1, len(rows) - 1))
        cases.append(GoldenCase(name, (GoldenTurn(tuple(ids), tuple(answer), margins, kept),)))
    manifest = Manifest(
        path=Path("toy.toml"),
        name="toy",
        family="toy",
        task="text_generation_causal",
        targets=("cpu_x86_64",),
        golden=Path("toy.json"),
        max_sequence=64,
        checkpoint=CheckpointSpec(CheckpointKind.TINY, "seed", "0"),
        precisions=(FP32, BF16),
        cases=tuple(CaseSpec(name, 16, ids=tuple(ids)) for name, ids in prompts.items()),
    )
    return Subject(manifest, Golden("toy", {}, "", "", tuple(cases)), precision, runner)


def failed(runner: ToyRunner, precision: PrecisionSpec = FP32) -> set[str]:
    tested = subject(runner, precision)
    return {name for name, check in CHECKS.items() if not all(metric.passed for metric in check(tested))}


@pytest.mark.parametrize("precision", [FP32, BF16], ids=["fp32", "bf16"])
def test_a_right_runner_passes_everything(precision: PrecisionSpec) -> None:
    assert failed(ToyRunner(), precision) == set()


def test_every_check_returns_figures() -> None:
    assert all(check(subject(ToyRunner())) for check in CHECKS.values())


WRONG: list[tuple[str, Callable[[], ToyRunner], str]] = [
    ("noise", lambda: ToyRunner(noise=0.1), "oracle_logits"),
    ("scaled", lambda: ToyRunner(scale=1.2), "oracle_logits"),
    ("constant_ids", lambda: ToyRunner(constant_ids=True), "oracle_greedy"),
    ("chunks", lambda: ToyRunner(forget_in_chunks=True), "one_go_or_steps"),
    ("peeks_ahead", lambda: ToyRunner(peek=True), "prefix_is_stable"),
    ("wrong_on_reuse", lambda: ToyRunner(wrong_on_reuse=True), "second_turn"),
    ("never_reuses", lambda: ToyRunner(never_reuses=True), "second_turn"),
    ("stale", lambda: ToyRunner(stale_after_branch=True), "changed_history"),
    ("no_reset", lambda: ToyRunner(reset_does_nothing=True), "after_reset"),
    ("reload", lambda: ToyRunner(worse_after_reload=True), "loaded_again"),
]


@pytest.mark.parametrize(("make", "check"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_each_fault_is_caught_by_the_check_made_for_it(make: Callable[[], ToyRunner], check: str) -> None:
    assert check in failed(make())


def test_lower_precision_still_catches_large_noise() -> None:
    assert "oracle_logits" in failed(ToyRunner(noise=1.0), BF16)
    assert "one_go_or_steps" in failed(ToyRunner(forget_in_chunks=True), BF16)
