"""Build-time tables: sums, the memory bound, and a peer that is not there."""

from __future__ import annotations

import sys

import pytest

from bench.build_time import markdown, timed

PHASES = [{"name": "weights", "seconds": 0.25, "peak_rss_bytes": 1}]
OURS = {
    "build_s": 1.0,
    "verify_s": 0.25,
    "parity_s": 0.75,
    "sum_s": 2.0,
    "peak_mb": 500.0,
    "bundle_mb": 200.0,
    "report": {"components": {"llm": {"phases": PHASES}}, "bundle": {"phases": PHASES}},
}


def test_the_table_adds_up_and_compares() -> None:
    text = markdown([OURS], [{"export_s": 15.0, "peak_mb": 1100.0}], "ok")
    assert "| llm: weights | 0.25 |" in text
    assert "| **sum** | **2.00** |" in text
    assert "660 MB" in text
    assert "7.5 times ours" in text


def test_a_missing_peer_is_told() -> None:
    assert "not run here: no network" in markdown([OURS], [], "not run here: no network")


def test_peak_memory_is_in_megabytes_of_a_million_bytes() -> None:
    assert 500 <= timed([sys.executable, "-c", "bytearray(500_000_000).count(1)"]).peak_mb < 600


def test_a_failed_process_is_no_measurement() -> None:
    assert timed([sys.executable, "-c", "print(7)"]).stdout == "7\n"
    with pytest.raises(RuntimeError, match="boom"):
        timed([sys.executable, "-c", "raise SystemExit('boom')"])
