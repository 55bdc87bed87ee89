"""Both readers judge the whole corpus as it says, and therefore alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle_corpus import sample
from tests.bundle_corpus.cases import Case, all_cases
from tests.bundle_corpus.judge import cpp_judge_all, cpp_verdicts, judge_tool, python_verdict
from trtmc.bundle.rules import Rule

CASES = all_cases()
READ_RULES = {rule.slug for rule in Rule} - {
    Rule.WRITE_FAILED.slug,
    Rule.SOURCE_CHANGED.slug,
    Rule.NO_SUCH_SECTION.slug,
}
needs_tool = pytest.mark.skipif(judge_tool() is None, reason="set TRTMC_BUNDLE_JUDGE to the C++ judge tool")


def _slug(case: Case) -> str:
    return "ok" if case.verdict == "ok" else f"bundle.{case.verdict}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_python_reader(case: Case) -> None:
    assert python_verdict(case.data) == _slug(case)


@needs_tool
def test_cpp_reader(tmp_path: Path) -> None:
    verdicts = cpp_judge_all(_tool(), tmp_path, [case.data for case in CASES])
    wrong = [(c.name, v, _slug(c)) for c, v in zip(CASES, verdicts, strict=True) if v != _slug(c)]
    assert wrong == []


def test_names_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


def test_every_rule_has_a_case() -> None:
    assert READ_RULES - {_slug(case) for case in CASES} == {Rule.NOT_FOUND.slug}


@needs_tool
def test_not_found_alike(tmp_path: Path) -> None:
    base = tmp_path / "base"
    base.write_bytes(sample.good())
    orders = [f"path {tmp_path / 'missing'}", f"path {tmp_path}", f"path {base}"]
    assert cpp_verdicts(_tool(), base, orders) == ["bundle.not_found", "bundle.not_found", "ok"]


def _tool() -> Path:
    tool = judge_tool()
    if tool is None:
        raise RuntimeError("no judge tool")
    return tool
