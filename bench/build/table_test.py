"""The arithmetic of the tables."""

from __future__ import annotations

from bench.build.table import markdown, peak_mb, seconds
from bench.build.ways import Step

PHASES = [{"name": "weights", "seconds": 0.5}, {"name": "compile", "seconds": 1.0}]


def found(ours: float, theirs: float) -> dict[str, list[Step]]:
    return {
        "direct, weights external": [
            Step("trtmc-build engine", ours, 300, ours / 2, {"engine_mb": 10, "phases": PHASES})
        ],
        "torch.onnx.export (dynamo), parser": [
            Step("export", theirs, 900, theirs / 2, {"load": 1.0, "export": 2.0}),
            Step("parse and build", 2.0, 2000, 1.5, {"build": 1.5, "engine_mb": 600}),
        ],
    }


ROUNDS = [found(2.0, 18.0), found(4.0, 10.0), found(2.5, 23.0)]


def test_medians_and_peaks() -> None:
    assert seconds(ROUNDS, "direct, weights external") == 2.5
    assert seconds(ROUNDS, "torch.onnx.export (dynamo), parser") == 20.0
    assert peak_mb(ROUNDS, "torch.onnx.export (dynamo), parser") == 2000


def test_tables_and_goals() -> None:
    text = markdown(ROUNDS, 270.0, {"external": 8.0})
    assert "| direct, weights external | 2.5 | 1.2 | 300 | 10 |" in text
    assert "| torch.onnx.export (dynamo), parser | 20.0 | 10.5 | 2000 | 600 |" in text
    assert "| direct, weights external | trtmc-build engine: compile | 1.00 |" in text
    assert "| direct, weights external | trtmc-build engine: the rest | 1.00 |" in text
    assert "| torch.onnx.export (dynamo), parser | parse and build: the rest | 0.50 |" in text
    assert "8.0 times faster than the fastest exporter path (goal 8); 8.4 times by processor time" in text
    assert "peak 300 MB (goal at most 364 MB)" in text
    assert "seven targets in 8.0 s, 3.2 times one (goal 4)" in text


def test_a_way_that_was_not_run() -> None:
    rounds = [{name: steps for name, steps in found(2.0, 1.0).items() if name.startswith("direct")}]
    text = markdown(rounds, 270.0, {})
    assert "exporter path" not in text and "torch" not in text


def test_a_round_without_one_way() -> None:
    rounds = [*ROUNDS, {"direct, weights external": found(9.0, 1.0)["direct, weights external"]}]
    assert seconds(rounds, "torch.onnx.export (dynamo), parser") == 20.0
