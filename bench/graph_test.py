"""The figures of `make bench-graph`: phases out of a profile, medians, and the tables."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bench import layer
from bench.graph import Row, Timing, main, phases, size_of, table

STEPS = ("hash", "copy", "start", "layer", "image", "check")


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
    (tmp_path / "p").write_bytes(write_profile(tmp_path / "q", [mark("Load", 0)]).read_bytes()[:-9])
    assert phases(tmp_path / "p") == {}


def test_a_row_is_its_median_build_with_that_build_s_phases() -> None:
    row = Row("x", "", [Timing(3.0), Timing(1.0, {"Load": 0.1}), Timing(1.5, {"Load": 0.2})])
    assert row.middle.phases == {"Load": 0.2} and row.range == " (1.00-3.00)"
    assert Row("x", "", [Timing(3.0), Timing(1.0)]).middle.seconds == 1.0
    assert Row("x", "", [Timing(3.0)]).range == ""


def test_the_table_names_goal_phases_and_the_disk_s_limit() -> None:
    null = Row("null build", "< 1 s", [Timing(0.25, {"Load": 0.2, "Finish": 0.001}, "1 process: 1 internal")])
    warm = Row("warm", "< 60 s", [Timing(20.0)], size=6_000_000_000)
    said = table([null, warm], {"hash": 0.5, "copy": 0.3}).splitlines()
    assert said[-2] == "| null build | < 1 s | 0.25 |  | Load 0.20 | 1 process: 1 internal |"
    assert said[-1] == "| warm | < 60 s | 20.00 | 3.0, 5.0 (6.0 GB) |  |  |"


def test_sizes_count_files_and_no_links(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_bytes(b"12345")
    (tmp_path / "link").symlink_to("d/f")
    assert size_of(tmp_path) == 5


def test_a_layer_s_steps_run_and_are_compared_with_hash_and_copy(tmp_path: Path) -> None:
    found = layer.measure(tmp_path, rounds=2, size=100_000)
    assert {name: len(row) for name, row in found.items()} == dict.fromkeys(STEPS, 2)
    assert (tmp_path / "image.tar").stat().st_size > 100_000
    seconds = {"hash": 1.0, "copy": 1.0, "start": 0.1, "layer": 1.5, "image": 1.5, "check": 9.0}
    fixed = {name: [layer.Cost(value, value / 2), layer.Cost(value, value / 2)] for name, value in seconds.items()}
    assert [line.split("|")[2].strip() for line in layer.table(fixed).splitlines()[-2:]] == ["1.50 times", "1.40 times"]


def test_no_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--rounds", "0"])
    assert caught.value.code == 2 and "--rounds is 0" in capsys.readouterr().err
