"""Judges cases in a process of their own, so that one that crashes or hangs takes nothing else along.

python3 -m tests.onnx_conformance.isolate RESULTS SHARD SHARDS [SKIP]   (the worker: cases SHARD, SHARD + SHARDS, ...)
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.onnx_conformance.cases import all_cases
from tests.onnx_conformance.judge import Judgement, Verdict, judge

_SECONDS = 600  # for all cases of a shard: a hang, not a measure of speed


def judged(shard: int, shards: int, folder: Path) -> dict[str, Judgement]:
    """Every case of a shard; the worker starts again behind a case that ends it."""
    results = folder / f"{shard}_of_{shards}.jsonl"
    results.write_text("")
    while True:
        before = len(_lines(results))
        code = _work(results, shard, shards, before // 2)
        found = _read(results)
        if code == 0:
            return found
        lines = _lines(results)
        if len(lines) % 2 == 0:
            raise RuntimeError(f"the worker of shard {shard} ended with {code} outside of any case")
        name = json.loads(lines[-1])["start"]
        reason = "hung" if code is None else f"ended the process with {code}"
        with results.open("a") as file:
            print(json.dumps({"name": name, "verdict": Verdict.CRASHED.value, "why": reason}), file=file)


def _work(results: Path, shard: int, shards: int, skip: int) -> int | None:
    command = [sys.executable, "-m", "tests.onnx_conformance.isolate", str(results), str(shard), str(shards), str(skip)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    try:
        return subprocess.run(command, check=False, env=environment, timeout=_SECONDS).returncode
    except subprocess.TimeoutExpired:
        return None


def _lines(results: Path) -> list[str]:
    return results.read_text("utf-8").splitlines()


def _read(results: Path) -> dict[str, Judgement]:
    entries = [json.loads(line) for line in _lines(results)]
    return {e["name"]: Judgement(Verdict(e["verdict"]), e["why"]) for e in entries if "name" in e}


def main(results: str, shard: str, shards: str, skip: str = "0") -> None:
    """Two lines per case: when it starts, and what came out."""
    chosen = all_cases()[int(shard) :: int(shards)][int(skip) :]
    with Path(results).open("a", encoding="utf-8") as file:
        for case in chosen:
            print(json.dumps({"start": case.name}), file=file, flush=True)
            judgement = judge(case)
            entry = {"name": case.name, "verdict": judgement.verdict.value, "why": judgement.why}
            print(json.dumps(entry), file=file, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
