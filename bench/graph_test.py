"""The figures of `make bench-graph`: phases out of a profile, and the table."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from bench.graph import Timing, phases, table


def write_profile(path: Path, events: list[dict[str, object]]) -> Path:
    path.write_bytes(gzip.compress(json.dumps({"traceEvents": events}).encode()))
    return path


def mark(name: str, ts: int) -> dict[str, object]:
    return {"cat": "build phase marker", "name": name, "ts": ts}


def test_a_phase_lasts_until_the_next_begins(tmp_path: Path) -> None:
    events = [
        mark("Execute", 3_000_000),
        mark("Load", 0),
        mark("Analyze", 1_000_000),
        {"name": "x", "ts": 4_000_000, "dur": 500_000},
    ]
    assert phases(write_profile(tmp_path / "p", events)) == {"Load": 1.0, "Analyze": 2.0, "Execute": 1.5}


def test_a_profile_that_cannot_be_read_has_no_phases(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"none")
    assert phases(tmp_path / "p") == {} == phases(tmp_path / "absent")


def test_the_table_names_goal_and_phases() -> None:
    said = table([Timing("null build", "< 1 s", 0.25, {"Load": 0.2, "Finish": 0.001}, "1 process: 1 internal")])
    assert said.splitlines()[-1] == "| null build | < 1 s | 0.25 | Load 0.20 | 1 process: 1 internal |"
