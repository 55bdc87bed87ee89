"""Chat templates against Transformers, byte for byte. After a change on purpose: python3 -m tests.text.make_goldens"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from tests.text import cases
from tests.text.tool import HERE, TextTool, golden

CONFIG = '{"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}'
CLOCK = {"seconds": cases.CLOCK_SECONDS, "utc_offset": 0}


@pytest.fixture(scope="module")
def tool() -> Iterator[TextTool]:
    with TextTool() as running:
        yield running


def rendered(tool: TextTool, template: str, messages: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Our answer."""
    opened = tool.ask({"op": "template", "file": template, "config": CONFIG})
    if "error" in opened:
        return opened
    return tool.ask({"op": "render", "messages": messages, "options": {**options, "clock": CLOCK}})


def difference(want: str | None, oracle_error: str | None, answer: dict[str, Any]) -> str | None:
    """What is wrong with an answer; an error counts as right where the oracle has one too."""
    got = answer.get("text")
    if want == got:
        return None
    return f"want {want!r} {oracle_error or ''}\n  got  {got!r} {answer.get('error', '')}"


@pytest.mark.parametrize("row", golden("templates.json")["rows"], ids=lambda row: row["name"])
def test_template(tool: TextTool, row: dict[str, Any]) -> None:
    template = (HERE / "templates" / f"{row['template']}.jinja").read_text("utf-8")
    answer = rendered(tool, template, row["messages"], row["options"])
    wrong = difference(row["want"], row["error"], answer)
    assert wrong is None, wrong
    if row["error"] and row["error"].startswith("TemplateError: "):
        assert answer["error"] == row["error"].removeprefix("TemplateError: ")
        assert answer["code"] == "template.raised"


def test_every_case_has_a_golden() -> None:
    assert [row["name"] for row in golden("templates.json")["rows"]] == [case.name for case in cases.cases()]


def test_expressions(tool: TextTool) -> None:
    failures = []
    rows = golden("expressions.json")["rows"]
    for row in rows:
        answer = rendered(tool, row["template"], cases.EXPRESSION_MESSAGES, {"tools": cases.TOOLS})
        wrong = difference(row["want"], row["error"], answer)
        if wrong:
            failures.append(f"{row['template']}\n  {wrong}")
    assert not failures, f"{len(failures)} of {len(rows)} expressions differ:\n" + "\n".join(failures)
    assert len(rows) > 500


@pytest.mark.parametrize("seconds", [0, 951782400, 1609459199, 1721999999, 1735689600, 1767225599, 4102444799])
def test_strftime_now_is_pythons(tool: TextTool, seconds: int) -> None:
    """Every conversion, in the C locale; a date without a zone, as datetime.now() is."""
    letters = "aAbBcCdDeFgGhHIjklmMnprRStTuUVwWxXyYzZ%"
    pattern = "|".join([f"%{letter}" for letter in letters] + ["%-d %-m %-H %_d %^a %#B %f é %q"])
    now = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    template = "{{ strftime_now(" + repr(pattern) + ") }}"
    tool.must({"op": "template", "file": template, "config": ""})
    answer = tool.must(
        {"op": "render", "messages": [{}], "options": {"clock": {"seconds": seconds - 3600, "utc_offset": 3600}}}
    )
    # %q is no conversion anywhere; the C library leaves it as it is.
    assert answer["text"] == now.strftime(pattern)


def test_a_wrong_answer_is_noticed() -> None:
    assert difference("a", None, {"text": "b"})
    assert difference(None, "TypeError: x", {"text": ""})
    assert difference("", None, {"error": "x", "code": "y"})
    assert difference(None, "TypeError: x", {"error": "x", "code": "y"}) is None
