"""The cache report: what it counts, and that it says what it does not know."""

from __future__ import annotations

import json

from tools.cache_report import Row, learn, seconds, table, tally

HIT = {
    "mnemonic": "TrtmcEngine",
    "cacheHit": True,
    "actualOutputs": [{"digest": {"sizeBytes": "3000000"}}, {"digest": {}}],
    "metrics": {"totalTime": "0.1s"},
}
RUN = {"mnemonic": "CppCompile", "metrics": {"executionWallTime": "2.5s", "totalTime": "9s"}}


def test_hits_misses_bytes_and_seconds_are_counted_by_kind() -> None:
    log = "\n".join(json.dumps(entry, indent=1) for entry in (HIT, RUN, RUN))
    assert tally(log) == {"TrtmcEngine": Row(1, 0, 3_000_000, 0.0), "CppCompile": Row(0, 2, 0, 5.0)}
    assert tally("") == {}


def test_a_duration_is_a_number() -> None:
    assert [seconds(text) for text in ("1.5s", "0s", "s")] == [1.5, 0.0, 0.0]


def test_the_mean_of_what_ran_is_what_a_hit_saves() -> None:
    known = learn({"CppCompile": Row(0, 2, 0, 5.0)}, {"CppCompile": [2, 3.0]})
    assert known == {"CppCompile": [4, 8.0]}
    said = table({"CppCompile": Row(3, 0, 1_000_000, 0.0)}, known)
    assert said.splitlines()[1].split() == ["CppCompile", "3", "0", "1.0", "6.0", "0.0"]
    assert "100 % of the actions" in said and "?" not in said


def test_a_kind_that_never_ran_here_is_said_to_be_unknown() -> None:
    said = table({"TrtmcEngine": Row(1, 0, 0, 0.0)}, {})
    assert said.splitlines()[1].split() == ["TrtmcEngine", "1", "0", "0.0", "?", "0.0"]
    assert "the time of 1 hits is not known" in said
