"""Measures our runtime and its peers in interleaved rounds and writes a table (Markdown) and all rounds (JSON).

Each round runs every contestant once, one after the other, in a fresh process: first prompt cold (it gives the time
from process start to the first token), the others timed. Figures are medians over prompts, then over rounds. Beside the
speed stands how many ids from the start equal the oracle's: a fast wrong answer is not fast.

    python -m bench.run --checkpoint FOLDER --runtime-root DIR --bundle fp16=X.bundle --bundle fp32=Y.bundle
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contestants import Contestant, ours, peers
from bench.peers_setup import bench_dir, clean_environment, read_status
from bench.report import Row, markdown

REPO = Path(__file__).absolute().parents[1]
PROMPTS = REPO / "bench" / "prompts.json"


@dataclass
class Series:
    """All rounds of one contestant, or why there are none."""

    contestant: Contestant
    rounds: list[dict[str, Any]] = field(default_factory=list)
    missing: str = ""


def leading_equal(expected: Sequence[int], actual: Sequence[int]) -> int:
    """How many ids from the start are the same in both."""
    count = 0
    for left, right in zip(expected, actual, strict=False):
        if left != right:
            break
        count += 1
    return count


def run_once(contestant: Contestant, environment: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """One process of one contestant; raises RuntimeError with its last words if it gave no RESULT."""
    started = {**clean_environment(), **environment, "BENCH_START": repr(time.time())}
    done = subprocess.run(contestant.command, env=started, capture_output=True, text=True, check=False, timeout=timeout)
    for line in done.stdout.splitlines():
        if line.startswith("RESULT "):
            return dict(json.loads(line.removeprefix("RESULT ")))
    tail = " / ".join((done.stdout + done.stderr).strip().splitlines()[-3:])
    raise RuntimeError(f"exit {done.returncode}: {tail}")


def measure(
    contestants: Sequence[Contestant], rounds: int, threads: int, new_tokens: int, prompt_count: int
) -> list[Series]:
    """The interleaved rounds."""
    status = read_status()
    series = [Series(contestant) for contestant in contestants]
    for one in series:
        if one.contestant.peer and status.get(one.contestant.peer) != "ok":
            one.missing = status.get(one.contestant.peer, "not run here: not set up (bench/peers_setup.py)")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as prompts:
        cases = json.loads(PROMPTS.read_text())["cases"][:prompt_count]
        prompts.write("\n".join(" ".join(map(str, case["prompt"])) for case in cases) + "\n")
        prompts.flush()
        environment = {
            "BENCH_PROMPTS": prompts.name,
            "BENCH_THREADS": str(threads),
            "BENCH_NEW_TOKENS": str(new_tokens),
            "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        for number in range(rounds):
            for one in series:
                if one.missing:
                    continue
                try:
                    before = os.getloadavg()[0]
                    one.rounds.append({**run_once(one.contestant, environment, 600), "load_before": before})
                except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                    one.missing = f"not run here: {error}"
            load = os.getloadavg()[0]
            print(f"bench: round {number + 1} of {rounds} done, load {load:.1f}", file=sys.stderr, flush=True)
    return series


def summarise(series: Series, prompt_tokens: int) -> Row:
    """Medians of one contestant."""
    contestant = series.contestant
    if series.missing or not series.rounds:
        return Row(contestant.name, contestant.weights, contestant.arithmetic, missing=series.missing)
    oracle = [case["greedy"] for case in json.loads(PROMPTS.read_text())["cases"]]

    def timed(values: list[float]) -> float:
        return statistics.median(values[1:] or values)

    decode = [1 / timed(one["step_s"]) for one in series.rounds]
    ids = series.rounds[0]["ids"]
    return Row(
        name=contestant.name,
        weights=contestant.weights,
        arithmetic=contestant.arithmetic,
        prefill=statistics.median(prompt_tokens / timed(one["prefill_s"]) for one in series.rounds),
        decode=statistics.median(decode),
        decode_low=min(decode),
        decode_high=max(decode),
        first_token=statistics.median(one["first_token_s"] for one in series.rounds),
        rss=statistics.median(one["rss_mb"] for one in series.rounds),
        equal=tuple(leading_equal(left, right) for left, right in zip(oracle, ids, strict=False)),
    )


def roofs(threads: int) -> dict[str, Any]:
    """The machine's limits, measured just now."""
    program = bench_dir() / "roofs"
    if not program.exists():
        return {}
    done = subprocess.run([str(program), str(threads)], capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout)) if done.returncode == 0 else {}


def main(argv: Sequence[str] | None = None) -> int:
    """Command line face."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True, help="SmolLM2 in the Hugging Face layout")
    parser.add_argument("--runtime-root", type=Path, help="our runtime (bin/trtmc, lib/…)")
    parser.add_argument("--bundle", action="append", default=[], metavar="fp16=FILE", help="our bundles by precision")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--new-tokens", type=int, default=128)
    parser.add_argument("--prompts", type=int, default=4, help="how many of the prompts; the first is the cold one")
    parser.add_argument("--only", default="", help="contestants whose name contains this")
    parser.add_argument("--out", type=Path, default=bench_dir() / "results", help="folder for results.json and .md")
    arguments = parser.parse_args(argv)
    bundles = {name: Path(path).resolve() for name, path in (item.split("=", 1) for item in arguments.bundle)}
    contestants = ours(arguments.runtime_root.resolve(), bundles) if bundles else []
    contestants += peers(arguments.checkpoint.resolve())
    contestants = [one for one in contestants if arguments.only.lower() in one.name.lower()]
    limits = roofs(arguments.threads)
    series = measure(contestants, arguments.rounds, arguments.threads, arguments.new_tokens, arguments.prompts)
    prompt_tokens = len(json.loads(PROMPTS.read_text())["cases"][0]["prompt"])
    rows = [summarise(one, prompt_tokens) for one in series]
    loads = [one["load_before"] for contestant in series for one in contestant.rounds]
    if loads:
        limits |= {"load_average_lowest": min(loads), "load_average_highest": max(loads)}
    table = markdown(rows, limits)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.md").write_text(table, encoding="utf-8")
    raw = {"roofs": limits, "rounds": {one.contestant.name: one.rounds or one.missing for one in series}}
    (arguments.out / "results.json").write_text(json.dumps(raw) + "\n", encoding="utf-8")
    print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
