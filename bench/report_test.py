"""The table tells the truth: order, shares, missing peers; and the count of equal ids stops at the first difference."""

from __future__ import annotations

import json
from pathlib import Path

from bench.contestants import ours, peers
from bench.report import Row, decode_roof, markdown, megabytes_per_token
from bench.run import PROMPTS, Series, leading_equal, summarise

LIMITS = {"read_gb_per_s_huge_pages": 47.0, "fp32_gflops": 300.0}


def test_bytes_per_token_are_those_of_the_weights_and_the_cache() -> None:
    assert round(megabytes_per_token("16-bit")) == 278
    assert round(megabytes_per_token("32-bit")) == 547
    roof = decode_roof("16-bit", LIMITS)
    assert roof is not None
    assert round(roof) == 169


def test_rows_are_sorted_and_missing_peers_are_told() -> None:
    rows = [
        Row("slow", "16-bit", "f32", prefill=1, decode=50, first_token=1, rss=1, equal=(1, 2, 3, 4)),
        Row("fast", "16-bit", "f32", prefill=1, decode=90, first_token=1, rss=1, equal=(128,) * 4),
        Row("absent", "16-bit", "f32", missing="not run here: no wheel"),
    ]
    text = markdown(rows, LIMITS)
    assert text.index("| fast |") < text.index("| slow |")
    assert "| absent |" not in text
    assert "- absent: not run here: no wheel" in text
    assert "53 %" in text


def test_leading_equal_ids() -> None:
    assert leading_equal([1, 2, 3], [1, 2, 3]) == 3
    assert leading_equal([1, 2, 3], [1, 9, 3]) == 1
    assert leading_equal([1, 2, 3], []) == 0


def test_medians_leave_out_the_cold_prompt(tmp_path: Path) -> None:
    oracle = [case["greedy"] for case in json.loads(PROMPTS.read_text())["cases"]]
    result = {"prefill_s": [9.0, 0.1, 0.1, 0.1], "step_s": [9.0, 0.01, 0.02, 0.01], "first_token_s": 1.0, "rss_mb": 5.0}
    series = Series(peers(tmp_path)[0], rounds=[{**result, "ids": [*oracle[:3], [oracle[3][0], -1]]}])
    row = summarise(series, 128)
    assert round(row.decode) == 100
    assert round(row.prefill) == 1280
    assert row.equal == (128, 128, 128, 1)


def test_prompts_are_what_the_page_says() -> None:
    cases = json.loads(PROMPTS.read_text())["cases"]
    assert [len(case["prompt"]) for case in cases] == [128] * 4
    assert [len(case["greedy"]) for case in cases] == [128] * 4


def test_our_rows_say_their_weights(tmp_path: Path) -> None:
    rows = ours(tmp_path, {"fp16": tmp_path / "a", "fp32": tmp_path / "b"})
    assert [(row.name, row.weights) for row in rows] == [
        ("trtmc fp16", "16-bit"),
        ("trtmc fp16 bf16", "16-bit"),
        ("trtmc fp32", "32-bit"),
    ]
