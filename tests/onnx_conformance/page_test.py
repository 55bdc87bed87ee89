"""The page and the expectations say the same, and the expectations keep what the page promises."""

from __future__ import annotations

from pathlib import Path

from tests.onnx_conformance import expectations, page
from tests.onnx_conformance.judge import Judgement, Verdict

PAGE = Path(__file__).absolute().parents[2] / "docs/onnx-conformance.md"


def test_the_page_is_what_the_expectations_say() -> None:
    assert PAGE.read_text("utf-8") == page.text(expectations.read()), f"run `{expectations.UPDATE}`"


def test_the_file_is_in_its_own_form() -> None:
    assert expectations.FILE.read_text("utf-8") == expectations.text(expectations.read())


def test_changes_tell_regressions_from_improvements() -> None:
    passed, wrong, refused = (Judgement(v) for v in (Verdict.PASSED, Verdict.WRONG, Verdict.REFUSED))
    before = {"a": passed, "b": wrong, "c": refused, "d": passed}
    after = {"a": wrong, "b": passed, "c": wrong, "d": passed, "e": passed}
    lines = expectations.changes(before, after)
    assert [line.split(":")[:2] for line in lines[:2]] == [["a", " REGRESSION"], ["c", " REGRESSION"]]
    assert lines[2:] == ["b: improvement: was wrong, is passed", "e: new case, passed"]
