"""Golden files come back as they were written, and a row catches every kind of wrong logits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trtmc.core.errors import BadInput
from trtmc.e2e.comparators import compare_logits
from trtmc.e2e.goldens import Golden, GoldenCase, GoldenTurn, load_golden, make_row, save_golden

LARGE = np.random.default_rng(5).normal(0, 4, 50_000).astype(np.float32)
SMALL = LARGE[:97]


def golden() -> Golden:
    turn = GoldenTurn((1, 2), (3, 4), (0.5, 0.25), (make_row(0, SMALL), make_row(3, SMALL)), "p", "a")
    return Golden("toy", {"torch": "1"}, "c0", "w0", (GoldenCase("one", (turn,)), GoldenCase("two", (turn, turn))))


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    save_golden(tmp_path / "g.json", golden())
    assert load_golden(tmp_path / "g.json") == golden()


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    save_golden(tmp_path / "a.json", golden())
    save_golden(tmp_path / "b.json", load_golden(tmp_path / "a.json"))
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_a_small_vocabulary_is_kept_whole() -> None:
    row = make_row(0, SMALL)
    assert row.stride == 1
    assert np.array_equal(row.sampled(), SMALL)


def test_a_large_vocabulary_takes_little_room() -> None:
    row = make_row(0, LARGE)
    assert len(row.sampled()) < 1100
    assert row.best_ids[0] == int(LARGE.argmax())


def passed(logits: np.ndarray, full: np.ndarray) -> bool:
    row = make_row(0, full)
    return all(metric.passed for metric in compare_logits("case", row.expected(), row.pick(logits), 0.99999))


@pytest.mark.parametrize("full", [SMALL, LARGE], ids=["small", "large"])
def test_right_logits_pass_and_wrong_ones_fail(full: np.ndarray) -> None:
    assert passed(full + 1e-5, full)
    assert not passed(full * 1.1, full)
    assert not passed(full + 0.3, full)
    assert not passed(np.roll(full, 1), full)
    assert not passed(full + np.random.default_rng(1).normal(0, 0.1, full.size), full)


def test_a_single_wrong_value_between_the_samples_shows_in_the_length() -> None:
    wrong = LARGE.copy()
    wrong[1] = 1e4
    assert not passed(wrong, LARGE)


def test_a_lost_winner_fails_though_it_is_no_sample() -> None:
    best = int(LARGE.argmax())
    assert best % make_row(0, LARGE).stride != 0
    wrong = LARGE.copy()
    wrong[best] = 0.0
    assert not passed(wrong, LARGE)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (None, "e2e.golden_missing"),
        ("{", "e2e.golden_broken"),
        ('{"cases": [{"name": "x"}]}', "e2e.golden_broken"),
        ('{"cases": [], "nonsense": 1}', "e2e.golden_broken"),
    ],
)
def test_a_broken_file_tells_the_command_that_remakes_it(tmp_path: Path, content: str | None, code: str) -> None:
    path = tmp_path / "g.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInput, match=r"make_goldens\.py") as caught:
        load_golden(path)
    assert caught.value.code == code


def test_another_version_is_refused(tmp_path: Path) -> None:
    save_golden(tmp_path / "g.json", golden())
    text = (tmp_path / "g.json").read_text().replace('"version": 1', '"version": 2')
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(BadInput, match="version 2"):
        load_golden(tmp_path / "g.json")
