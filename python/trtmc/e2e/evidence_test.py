"""Evidence says what happened: a failed or missing metric makes it fail, and equal runs give equal bytes."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from trtmc.e2e.comparators import Metric
from trtmc.e2e.evidence import Evidence, source_digest, write_evidence

GOOD = Metric("good", 1.0, 0.5, at_least=True)
BAD = Metric("bad", 0.1, 0.5, at_least=True, note="why")
NAN = Metric("nan", math.nan, 0.5, at_least=True)


def evidence(checks: dict[str, tuple[Metric, ...]]) -> Evidence:
    return Evidence("toy", "m0", {"source": "seed"}, "fp32", "cpu_x86_64", "python", "b0", "s0", {"cases": 1}, checks)


@pytest.mark.parametrize(
    ("checks", "passed"),
    [
        ({"a": (GOOD,), "b": (GOOD, GOOD)}, True),
        ({"a": (GOOD,), "b": (GOOD, BAD)}, False),
        ({"a": (NAN,)}, False),
        ({"a": (GOOD,), "b": ()}, False),
        ({}, False),
    ],
    ids=["good", "one_bad", "nan", "an_empty_check", "no_check"],
)
def test_verdict(checks: dict[str, tuple[Metric, ...]], passed: bool) -> None:
    assert evidence(checks).passed is passed
    assert json.loads(evidence(checks).to_json())["passed"] is passed


def test_the_file_holds_every_figure_with_its_bound(tmp_path: Path) -> None:
    path = write_evidence(tmp_path, evidence({"a": (BAD, NAN)}))
    assert path.name == "toy.fp32.python.json"
    metric, nan = json.loads(path.read_text())["checks"]["a"]
    assert metric == {
        "name": "bad",
        "value": 0.1,
        "bound": 0.5,
        "direction": "at_least",
        "passed": False,
        "note": "why",
    }
    assert nan["value"] is None


def test_source_digest_sees_content_names_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1")
    (tmp_path / "b.txt").write_text("1")
    first = source_digest(tmp_path, ["*.py"])
    (tmp_path / "b.txt").write_text("2")
    assert source_digest(tmp_path, ["*.py"]) == first
    (tmp_path / "a.py").write_text("2")
    changed = source_digest(tmp_path, ["*.py"])
    (tmp_path / "a.py").rename(tmp_path / "c.py")
    assert len({first, changed, source_digest(tmp_path, ["*.py"])}) == 3
