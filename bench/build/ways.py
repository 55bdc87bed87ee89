"""The ways from a checkpoint to an engine, each as the processes that it takes. Knows no numbers and no tables.

A way is run as a user would run it: fresh processes, wall time and peak memory of each.
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.build_time import Timed, timed
from bench.peers_setup import TORCH, TRANSFORMERS, bench_dir, clean_environment, make_venv

HERE = Path(__file__).absolute().parent
PACKAGES = [TORCH, TRANSFORMERS, "safetensors", "numpy", "onnx==1.23.2", "onnxscript==0.7.2", "tensorrt-rtx==1.7.1.116"]


@dataclass(frozen=True)
class Task:
    """One model, one target: the same for all ways."""

    checkpoint: Path
    target: str
    positions: int
    scratch: Path


@dataclass(frozen=True)
class Step:
    """One process of a way."""

    name: str
    seconds: float
    peak_mb: float
    cpu_seconds: float  # on a busy machine the fairer figure
    facts: dict[str, Any]


@dataclass(frozen=True)
class Way:
    """A name for the tables and what to run."""

    name: str
    run: Callable[[Task], list[Step]]


def setup() -> None:
    """Installs the environment of exporters and parser, once."""
    make_venv("export-onnx", PACKAGES)


def _step(name: str, done: Timed, facts: dict[str, Any]) -> Step:
    return Step(name, done.seconds, done.peak_mb, done.cpu_seconds, facts)


def _peer(program: str, *arguments: str) -> list[str]:
    return [str(bench_dir() / "venv-export-onnx" / "bin" / "python"), str(HERE / program), *arguments]


def exporter(name: str) -> Way:
    """torch → ONNX → TensorRT's parser → engine, with one of torch's exporters."""

    def run(task: Task) -> list[Step]:
        folder = task.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        onnx, environment = folder / "model.onnx", clean_environment()
        command = ["--checkpoint", str(task.checkpoint), "--out", str(onnx), "--exporter", name]
        first = timed(_peer("export_onnx.py", *command), environment)
        command = ["--onnx", str(onnx), "--sm", task.target.removeprefix("sm_"), "--positions", str(task.positions)]
        second = timed(_peer("onnx_engine.py", *command, "--out", str(folder / "engine")), environment)
        shutil.rmtree(folder)
        return [
            _step("export", first, _last_object(first.stdout)),
            _step("parse and build", second, _last_object(second.stdout)),
        ]

    return Way(f"torch.onnx.export ({name}), parser", run)


def direct(builder: str, weights: str) -> Way:
    """trtmc-build engine, with weights in the engine or outside."""

    def run(task: Task) -> list[Step]:
        folder = task.scratch / "direct"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        target, report = folder / "target.json", folder / "report.json"
        target.write_text(target_json(task.target), "utf-8")
        command = [*shlex.split(builder), "engine", "--quiet", "--family", "llama"]
        command += ["--checkpoint", str(task.checkpoint), "--target-info", str(target), "--precision", "fp16"]
        command += ["--max-sequence", str(task.positions), "--weights", weights]
        command += ["--out-engine", str(folder / "engine"), "--out-contract", str(folder / "engine.json")]
        done = timed([*command, "--out-report", str(report)])
        facts = json.loads(report.read_text("utf-8"))
        facts["engine_mb"] = (folder / "engine").stat().st_size / 1e6
        shutil.rmtree(folder)
        return [_step("trtmc-build engine", done, facts)]

    return Way(f"direct, weights {weights}", run)


def target_json(name: str) -> str:
    """target.json of a target of the build graph."""
    from trtmc.core.target import named_target

    return json.dumps(named_target(name).to_json())


def all_ways(builder: str) -> Sequence[Way]:
    """Ours first."""
    return (direct(builder, "external"), direct(builder, "embedded"), exporter("torchscript"), exporter("dynamo"))


def _last_object(text: str) -> dict[str, Any]:
    """The JSON object on the last line; exporters print what they like before."""
    return dict(json.loads(text.strip().splitlines()[-1]))
