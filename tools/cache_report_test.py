"""The cache report: what it counts, and that it says what it does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools import cache_report
from tools.cache_report import Report, Row, as_json, disk_cache_of, entries, estimate, learn, seconds, table, tally
from tools.wire import delimited

ACTION = "ab" + "0" * 62
HIT = {
    "mnemonic": "TrtmcEngine",
    "cacheHit": True,
    "runner": "disk cache hit",
    "digest": {"hash": ACTION},
    "actualOutputs": [{"digest": {"sizeBytes": "3000000"}}, {"digest": {}}],
    "metrics": {"totalTime": "0.1s"},
}
RUN = {
    "mnemonic": "CppCompile",
    "actualOutputs": [{"digest": {"sizeBytes": "10"}}],
    "metrics": {"executionWallTime": "2.5s", "totalTime": "9s"},
}


def cache_with_record(folder: Path, record: bytes) -> Path:
    path = folder / "ac" / "ab" / ACTION
    path.parent.mkdir(parents=True)
    path.write_bytes(record)
    return folder


def test_hits_misses_bytes_and_seconds_are_counted_by_kind() -> None:
    log = "\n".join(json.dumps(entry, indent=1) for entry in (HIT, {**HIT, "runner": "remote cache hit"}, RUN, RUN))
    report = tally(entries(log))
    assert report.rows == {
        "TrtmcEngine": Row(disk_hits=1, remote_hits=1, bytes_from_cache=6_000_000),
        "CppCompile": Row(misses=2, bytes_made=20, seconds_run=5.0),
    }
    assert report.unrecorded == {"TrtmcEngine": 2}
    assert report.total().hits == 2
    assert tally(entries("")).rows == {}
    assert tally(entries(log[:-5])).total().misses == 1, "the last entry is cut off"


def test_a_hit_saves_what_its_own_record_says(tmp_path: Path) -> None:
    # 100.5 s to 103.25 s
    begin, end = b"\x08\x64\x10\x80\xca\xb5\xee\x01", b"\x08\x67\x10\x80\xe5\x9a\x77"
    cache = cache_with_record(tmp_path, delimited(2, b"x") + delimited(9, delimited(7, begin) + delimited(8, end)))
    report = tally([HIT], cache)
    assert report.rows["TrtmcEngine"].seconds_saved == pytest.approx(2.75)
    assert report.unrecorded == {}
    assert "~" not in table(report) and "?" not in table(report)


def test_a_record_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    assert tally([HIT], cache_with_record(tmp_path, b"\x4a\xff")).unrecorded == {"TrtmcEngine": 1}
    assert tally([HIT], tmp_path / "absent").unrecorded == {"TrtmcEngine": 1}


def test_a_duration_is_a_number() -> None:
    assert [seconds(text) for text in ("1.5s", "0s", "s")] == [1.5, 0.0, 0.0]


def test_without_a_record_the_mean_of_what_ran_is_shown_as_an_estimate() -> None:
    report = Report(
        {"CppCompile": Row(disk_hits=3, misses=2, bytes_from_cache=1_000_000, seconds_run=5.0)}, {"CppCompile": 3}
    )
    known = learn(report, {"CppCompile": [2, 3.0]})
    assert known == {"CppCompile": [4, 8.0]}
    recorded = Report({"CppCompile": Row(disk_hits=3, seconds_saved=6.0)}, {"CppCompile": 1})
    assert learn(recorded, {}) == {"CppCompile": [2, 6.0]}
    estimate(report, known)
    said = table(report)
    assert said.splitlines()[1].split() == ["CppCompile", "3", "0", "2", "1.0", "0.0", "~6.0", "5.0"]
    assert "60 % of the actions" in said and "the time of 3 hits is the mean" in said


def test_a_kind_that_never_ran_here_is_said_to_be_unknown() -> None:
    report = Report({"TrtmcEngine": Row(remote_hits=1)}, {"TrtmcEngine": 1})
    estimate(report, {})
    said = table(report)
    assert said.splitlines()[1].split() == ["TrtmcEngine", "0", "1", "0", "0.0", "0.0", "?", "0.0"]
    assert "the time of 1 hits is not known" in said
    assert json.loads(as_json(report))["all"]["unknown"] == 1


def test_one_miss_among_many_hits_is_not_rounded_away() -> None:
    assert "99 % of the actions" in table(Report({"CppCompile": Row(disk_hits=999, misses=1)}))


def test_the_disk_cache_is_the_last_one_named() -> None:
    def of(*words: str) -> Path | None:
        return disk_cache_of([{"started": {}}, {"optionsParsed": {"cmdLine": list(words)}}])

    assert of("--disk_cache=~/x", "--jobs=2") == Path.home() / "x"
    assert of("--disk_cache=/a", "--disk_cache=") is None
    assert of() is None


@pytest.mark.parametrize("words", [["--json"], []])
def test_a_build_that_fails_is_not_called_up_to_date(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bazel = tmp_path / "bazel"
    bazel.write_text("#!/bin/sh\nexit 7\n")
    bazel.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_report.main(words) == 7
    out, err = capsys.readouterr()
    assert "exit code 7" in err and "up to date" not in out
    assert (json.loads(out)["actions"] == {}) if words else out == ""


@pytest.mark.parametrize("text", ["", "[1]", '{"CppCompile": 3}', '{"CppCompile": ["a", "b"]}'])
def test_a_damaged_history_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "h").write_text(text)
    assert cache_report.read_history(tmp_path / "h") == {}
