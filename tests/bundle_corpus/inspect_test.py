"""`inspect` shows the same in Python and in C++, and what it shows is what is in the file."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.bundle_corpus import sample
from tests.bundle_corpus.cases import all_cases
from tests.bundle_corpus.judge import cpp_verdicts, judge_tool
from trtmc.bundle import read_bundle
from trtmc.bundle.inspect import describe, describe_json, describe_text
from trtmc.bundle.reports import reports_json, reports_text
from trtmc.core.errors import TrtmcError

RELEASED = Path(__file__).parent / "v1" / "sample.bundle"
GOOD = [case for case in all_cases() if case.verdict == "ok"]
needs_tool = pytest.mark.skipif(judge_tool() is None, reason="set TRTMC_BUNDLE_JUDGE to the C++ judge tool")


def _both(path: Path) -> str:
    with read_bundle(path) as bundle:
        return f"{describe_json(bundle)}\n{describe_text(bundle)}"


@needs_tool
@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_both_languages_show_the_same(case: object, tmp_path: Path) -> None:
    path = tmp_path / "x.bundle"
    path.write_bytes(case.data)
    run = subprocess.run([judge_tool(), path], input=b"describe\n", capture_output=True, check=True)
    assert run.stdout.decode() == _both(path)


REPORTS = {
    "llm": {
        "engine_bytes": 12,
        "layers": {"CAST": 3, "SHUFFLE": 1},
        "none": {},
        "text": {"empty": ""},
        "precision": "fp16",
        "odd": 0.5,
    },
    "sm_89/llm": {"note": 'a \x1b[31m b \u20ac " \\', "list": [1, {"a": None}], "nested": {"a": [True]}},
}


def _with_reports(path: Path, reports: dict[str, bytes]) -> Path:
    sections = {**sample.SECTIONS, **{f"reports/{name}.json": data for name, data in reports.items()}}
    path.write_bytes(sample.assemble(sample.canonical(sample.with_sections(sample.header(), sections)), sections))
    return path


def _shown_reports(path: Path) -> str:
    try:
        with read_bundle(path) as bundle:
            return f"{reports_json(bundle)}\n{reports_text(bundle)}"
    except TrtmcError as error:
        return error.code + "\n"


@pytest.mark.parametrize(
    ("stored", "wanted"),
    [
        ({name: json.dumps(value).encode() for name, value in REPORTS.items()}, "\n  layers CAST 3, SHUFFLE 1\n"),
        ({}, "report.missing\n"),
        ({"llm": b"[]"}, "report.schema\n"),
        ({"llm": b"{"}, "report.schema\n"),
        ({"llm": b"\xff"}, "report.schema\n"),
    ],
    ids=["good", "none", "array", "cut", "bytes"],
)
def test_engine_reports(stored: dict[str, bytes], wanted: str, tmp_path: Path) -> None:
    path = _with_reports(tmp_path / "x.bundle", stored)
    shown = _shown_reports(path)
    assert wanted in shown
    assert "\x1b" not in shown, "a report must not steer the terminal"
    tool = judge_tool()
    if tool is not None:
        run = subprocess.run([tool, path], input=b"reports\n", capture_output=True, check=True)
        assert run.stdout.decode() == shown


def test_json_holds_the_stored_header() -> None:
    with read_bundle(RELEASED) as bundle:
        assert describe(bundle)["header"] == sample.header()
        assert json.loads(describe_json(bundle))["id"] == sample.digest(sample.canonical(sample.header()))


def test_text_names_the_facts() -> None:
    with read_bundle(RELEASED, verify="full") as bundle:
        text = describe_text(bundle)
    for fact in (
        "family llama, task text_generation_causal",
        "strategy llama_decoder_kv_cache",
        "target cpu_x86_64: openvino 2026.4.1",
        "llm for cpu_x86_64: engine engines/llm.engine",
        "weights 2 from outside, 2 of them cast",
        "weights/checkpoint: 1 tensors, bfloat16, 24 bytes",
        "input input_ids int64 [batch, sequence]",
        "state 1 tensors, the first k_cache_0 float16 [batch, 2, 64, 12]",
        "profile context: batch 1/1/1 rows 1/1/64 sequence 1/16/64",
        "vocab_size 512 max_sequence 64 bos_token_id 1 eos_token_ids [2,0] pad_token_id null",
        "temperature 0.7",
        "checkpoint wheel:example==1.0, revision r1",
        "config.json, 20 bytes",
    ):
        assert fact in text


def test_released_bundle_still_opens() -> None:
    with read_bundle(RELEASED, verify="full") as bundle:
        assert bytes(bundle.section("text/tokenizer.json")) == b"{}"


@needs_tool
def test_released_bundle_still_opens_in_cpp() -> None:
    tool = judge_tool()
    if tool is None:
        raise RuntimeError("no judge tool")
    assert cpp_verdicts(tool, RELEASED, ["whole"]) == ["ok"]
