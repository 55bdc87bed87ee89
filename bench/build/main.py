"""``make bench-build``: checkpoint to engine, our direct path beside torch's exporters and TensorRT's ONNX parser.

One model, one target, one machine; rounds are interleaved; figures are medians over rounds. Also: what all seven
targets cost beside one. Results: ``build.md`` and ``build.json`` in the bench cache.

    python -m bench.build.main --checkpoint FOLDER --trtmc-build "python -m trtmc.cli" --rounds 3
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from bench.build.table import Round, markdown
from bench.build.ways import Task, Way, all_ways, direct, setup
from bench.peers_setup import SetupError, bench_dir

TARGETS = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_120", "sm_121", "rtx_portable")


def one_round(ways: Sequence[Way], task: Task) -> Round:
    """Every way once. A way that fails is left out and said."""
    found: Round = {}
    for way in ways:
        try:
            found[way.name] = way.run(task)
        except (RuntimeError, OSError) as error:
            print(f"bench: {way.name}: not run here: {error}", file=sys.stderr)
    return found


def seven_targets(way: Way, task: Task, at_once: int) -> float:
    """Seconds for all targets, `at_once` processes at a time."""

    def build(target: str) -> None:
        way.run(Task(task.checkpoint, target, task.positions, task.scratch / target))

    begin = time.monotonic()
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(build, TARGETS))
    return time.monotonic() - begin


def main(argv: Sequence[str] | None = None) -> int:
    """Command line face; every option has its value from the build graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--trtmc-build", default=f"{sys.executable} -m trtmc.cli")
    parser.add_argument("--target", default="sm_89")
    parser.add_argument("--positions", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="ways whose name contains this")
    parser.add_argument("--out", type=Path, default=bench_dir() / "results")
    arguments = parser.parse_args(argv)
    try:
        setup()
    except (SetupError, OSError) as error:
        print(f"bench: exporters: not run here: {error}", file=sys.stderr)
    ways = [way for way in all_ways(arguments.trtmc_build) if arguments.only in way.name]
    rounds: list[Round] = []
    seven: dict[str, float] = {}
    checkpoint = arguments.checkpoint.resolve()
    with tempfile.TemporaryDirectory(prefix="trtmc-bench-") as scratch:
        task = Task(checkpoint, arguments.target, arguments.positions, Path(scratch))
        for number in range(arguments.rounds):
            rounds.append(one_round(ways, task))
            print(f"bench: round {number + 1}, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
            save(arguments.out, checkpoint, rounds, seven)
        if not arguments.only:
            for weights in ("external", "embedded"):
                seven[weights] = seven_targets(direct(arguments.trtmc_build, weights), task, os.cpu_count() or 1)
    print(save(arguments.out, checkpoint, rounds, seven))
    return 0


def save(folder: Path, checkpoint: Path, rounds: Sequence[Round], seven: Mapping[str, float]) -> str:
    """Writes what is known so far, after each round, and gives the tables."""
    table = markdown(rounds, (checkpoint / "model.safetensors").stat().st_size / 1e6, seven)
    raw = {
        "rounds": [{name: [asdict(step) for step in steps] for name, steps in found.items()} for found in rounds],
        "seven_targets_s": dict(seven),
        "load": os.getloadavg(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "build.json").write_text(json.dumps(raw) + "\n", "utf-8")
    (folder / "build.md").write_text(table, "utf-8")
    return table


if __name__ == "__main__":
    sys.exit(main())
