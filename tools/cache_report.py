"""`make cache-report`: builds, and says per kind of action how much came from a cache: hits, misses, bytes, seconds
saved.

    python3 tools/cache_report.py [BAZEL OPTIONS AND TARGETS]      default //families/llama:image

Bazel's execution log says what ran and what was found. The seconds that a hit saved are an estimate: the mean of
what actions of its kind took when they
ran, here or in an earlier report of this user.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REPO = Path(__file__).resolve().parent.parent
DEFAULT = ["//families/llama:image"]


@dataclass
class Row:
    """What is known of one kind of action."""

    hits: int = 0
    misses: int = 0
    bytes_from_cache: int = 0
    seconds_run: float = 0.0


def entries(text: str) -> Iterator[dict[str, Any]]:
    """Reads the execution log: JSON objects, one after the other."""
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        while position < len(text) and text[position].isspace():
            position += 1


def seconds(duration: str) -> float:
    """'1.5s' as a number."""
    return float(duration.removesuffix("s") or 0)


def tally(log: str) -> dict[str, Row]:
    """Rows by mnemonic."""
    rows: dict[str, Row] = {}
    for entry in entries(log):
        row = rows.setdefault(entry.get("mnemonic", "?"), Row())
        if entry.get("cacheHit"):
            row.hits += 1
            outputs = entry.get("actualOutputs", [])
            row.bytes_from_cache += sum(int(file.get("digest", {}).get("sizeBytes", 0)) for file in outputs)
        else:
            row.misses += 1
            metrics = entry.get("metrics", {})
            row.seconds_run += seconds(metrics.get("executionWallTime", metrics.get("totalTime", "0s")))
    return rows


def history_path() -> Path:
    """Where the mean times of earlier reports are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "trtmc" / "action-seconds.json"


def learn(rows: dict[str, Row], known: dict[str, list[float]]) -> dict[str, list[float]]:
    """Adds this run to the history: mnemonic -> [actions, seconds]."""
    new = dict(known)
    for name, row in rows.items():
        if row.misses:
            count, total = new.get(name, [0, 0.0])
            new[name] = [count + row.misses, total + row.seconds_run]
    return new


def table(rows: dict[str, Row], known: dict[str, list[float]]) -> str:
    """The report."""
    lines = [f"{'action':<22} {'hits':>6} {'misses':>6} {'MB':>9} {'saved s':>8} {'ran s':>8}"]
    total, saved_total, unknown = Row(), 0.0, 0
    for name, row in sorted(rows.items()):
        count, spent = known.get(name, [0, 0.0])
        saved = row.hits * spent / count if count else None
        unknown += row.hits if saved is None else 0
        shown = "?" if saved is None else f"{saved:.1f}"
        size = row.bytes_from_cache / 1e6
        lines.append(f"{name:<22} {row.hits:>6} {row.misses:>6} {size:>9.1f} {shown:>8} {row.seconds_run:>8.1f}")
        total.hits, total.misses = total.hits + row.hits, total.misses + row.misses
        total.bytes_from_cache += row.bytes_from_cache
        total.seconds_run += row.seconds_run
        saved_total += saved or 0.0
    size = total.bytes_from_cache / 1e6
    lines.append(
        f"{'all':<22} {total.hits:>6} {total.misses:>6} {size:>9.1f} {saved_total:>8.1f} {total.seconds_run:>8.1f}"
    )
    share = 100 * total.hits / (total.hits + total.misses) if total.hits + total.misses else 100.0
    lines.append(f"{share:.0f} % of the actions that were asked for came from a cache")
    if unknown:
        lines.append(f"? the time of {unknown} hits is not known: actions of their kind have not run here yet")
    return "\n".join(lines)


def main(words: list[str]) -> int:
    """Builds and prints the report; the build's own exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "spawns.json"
        command = ["bazel", "build", f"--execution_log_json_file={log}", "--show_result=0", *(words or DEFAULT)]
        status = subprocess.run(command, cwd=REPO, check=False).returncode
        text = log.read_text("utf-8") if log.is_file() else ""
    path = history_path()
    try:
        known = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        known = {}
    rows = tally(text)
    if not rows:
        print("no action was asked for: all was up to date (more to see after `bazel clean`, or in a new clone)")
        return status
    known = learn(rows, known)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    print(table(rows, known))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
