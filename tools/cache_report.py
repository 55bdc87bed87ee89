"""`make cache-report`: builds, and says per kind of action how much came from a cache: hits, misses, bytes, seconds
saved.

    python3 tools/cache_report.py [--json] [BAZEL OPTIONS AND TARGETS]      default //families/llama:image

Bazel's execution log says what ran and what was found. What a hit saved is the time that its action took when it
ran, as the record in the disk cache says; where there is no such record (no disk cache, or hits of a remote one
that were not kept), it is the mean of what actions of its kind took, here or in an earlier report of this user, and
marked with `~`. Actions that are up to date already are asked of no cache and are in no row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools import wire

REPO = Path(__file__).resolve().parent.parent
DEFAULT = ["//families/llama:image"]


@dataclass
class Row:
    """What is known of one kind of action."""

    disk_hits: int = 0
    remote_hits: int = 0
    misses: int = 0
    bytes_from_cache: int = 0
    bytes_made: int = 0
    seconds_saved: float = 0.0
    seconds_run: float = 0.0
    #: Hits whose time is no record's: estimated, or not known at all.
    estimated: int = 0
    unknown: int = 0

    @property
    def hits(self) -> int:
        """From whatever cache."""
        return self.disk_hits + self.remote_hits

    def add(self, other: Row) -> None:
        """Adds another row to this one."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


@dataclass
class Report:
    """All kinds of one build."""

    rows: dict[str, Row] = field(default_factory=dict)
    #: Hits without a record, by kind; `estimate` makes them `estimated` or `unknown`.
    unrecorded: dict[str, int] = field(default_factory=dict)

    def total(self) -> Row:
        """The sum of all rows."""
        total = Row()
        for row in self.rows.values():
            total.add(row)
        return total


def entries(text: str) -> Iterator[dict[str, Any]]:
    """Reads a log of JSON objects, one after the other; a last one that is cut off (a killed Bazel) is left out."""
    decoder = json.JSONDecoder()
    position = 0
    while position < len(text):
        try:
            value, position = decoder.raw_decode(text, position)
        except ValueError:
            return
        yield value
        while position < len(text) and text[position].isspace():
            position += 1


def seconds(duration: str) -> float:
    """'1.5s' as a number."""
    return float(duration.removesuffix("s") or 0)


def recorded_seconds(disk_cache: Path | None, action: str) -> float | None:
    """How long an action took when its result was made, from its record in a disk cache."""
    if disk_cache is None or not action:
        return None
    try:
        metadata = wire.part((disk_cache / "ac" / action[:2] / action).read_bytes(), 9)
        begin, end = wire.part(metadata, 7), wire.part(metadata, 8)
        return (wire.count(end, 1) - wire.count(begin, 1)) + (wire.count(end, 2) - wire.count(begin, 2)) / 1e9
    except (OSError, ValueError):
        return None


def _size(entry: dict[str, Any]) -> int:
    return sum(int(file.get("digest", {}).get("sizeBytes", 0)) for file in entry.get("actualOutputs", []))


def tally(log: Iterable[dict[str, Any]], disk_cache: Path | None = None) -> Report:
    """Rows by mnemonic."""
    report = Report()
    for entry in log:
        name = entry.get("mnemonic", "?")
        row = report.rows.setdefault(name, Row())
        if not entry.get("cacheHit"):
            metrics = entry.get("metrics", {})
            row.misses += 1
            row.bytes_made += _size(entry)
            row.seconds_run += seconds(metrics.get("executionWallTime", metrics.get("totalTime", "0s")))
            continue
        row.disk_hits += entry.get("runner") == "disk cache hit"
        row.remote_hits += entry.get("runner") != "disk cache hit"
        row.bytes_from_cache += _size(entry)
        took = recorded_seconds(disk_cache, entry.get("digest", {}).get("hash", ""))
        if took is None:
            report.unrecorded[name] = report.unrecorded.get(name, 0) + 1
        else:
            row.seconds_saved += took
    return report


def learn(report: Report, known: dict[str, list[float]]) -> dict[str, list[float]]:
    """Adds this run to the history: mnemonic -> [actions, seconds]; what ran, and what hits have a record of."""
    new = dict(known)
    for name, row in report.rows.items():
        timed = row.misses + row.hits - report.unrecorded.get(name, 0)
        if timed:
            count, total = new.get(name, [0, 0.0])
            new[name] = [count + timed, total + row.seconds_run + row.seconds_saved]
    return new


def estimate(report: Report, known: dict[str, list[float]]) -> None:
    """Fills in the hits that have no record, from the history."""
    for name, hits in report.unrecorded.items():
        count, spent = known.get(name, [0, 0.0])
        row = report.rows[name]
        if count:
            row.seconds_saved += hits * spent / count
            row.estimated += hits
        else:
            row.unknown += hits


def _line(name: str, row: Row) -> str:
    saved = "?" if row.unknown and not row.seconds_saved else f"{'~' if row.estimated else ''}{row.seconds_saved:.1f}"
    cells = [row.disk_hits, row.remote_hits, row.misses, f"{row.bytes_from_cache / 1e6:.1f}"]
    cells += [f"{row.bytes_made / 1e6:.1f}", saved, f"{row.seconds_run:.1f}"]
    return f"{name:<22}" + "".join(f" {cell:>9}" for cell in cells)


def table(report: Report) -> str:
    """The report, for people."""
    head = ["disk hits", "remote", "misses", "MB cached", "MB made", "s saved", "s ran"]
    lines = [f"{'action':<22}" + "".join(f" {cell:>9}" for cell in head)]
    lines += [_line(name, row) for name, row in sorted(report.rows.items())]
    total = report.total()
    lines.append(_line("all", total))
    share = 100 * total.hits // (total.hits + total.misses) if total.hits + total.misses else 100
    lines.append(
        f"{share} % of the actions that were asked for came from a cache; "
        "seconds are those of actions, which run side by side"
    )
    if total.estimated:
        lines.append(f"~ the time of {total.estimated} hits is the mean of actions of their kind")
    if total.unknown:
        lines.append(f"? the time of {total.unknown} hits is not known: actions of their kind have not run here yet")
    return "\n".join(lines)


def as_json(report: Report) -> str:
    """The report, for programs."""
    rows = {name: vars(row) | {"hits": row.hits} for name, row in sorted(report.rows.items())}
    total = report.total()
    return json.dumps({"actions": rows, "all": vars(total) | {"hits": total.hits}}, indent=2)


def history_path() -> Path:
    """Where the mean times of earlier reports are kept."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "trtmc" / "action-seconds.json"


def read_history(path: Path) -> dict[str, list[float]]:
    """The history, or nothing where there is none that can be read."""
    try:
        known = json.loads(path.read_text("utf-8"))
        return {str(name): [int(count), float(total)] for name, (count, total) in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def disk_cache_of(events: Iterable[dict[str, Any]]) -> Path | None:
    """The disk cache that a build used, from its build events: command line and every bazelrc taken together."""
    words = [word for event in events for word in event.get("optionsParsed", {}).get("cmdLine", [])]
    given = [word.partition("=")[2] for word in words if word.startswith("--disk_cache=")]
    return Path(given[-1]).expanduser() if given and given[-1] else None


def _read(path: Path) -> str:
    return path.read_text("utf-8", "replace") if path.is_file() else ""


def main(words: list[str]) -> int:
    """Builds and prints the report; the build's own exit code."""
    for_programs = "--json" in words
    words = [word for word in words if word != "--json"] or DEFAULT
    with tempfile.TemporaryDirectory() as scratch:
        log, events = Path(scratch) / "spawns.json", Path(scratch) / "events.json"
        options = [f"--execution_log_json_file={log}", f"--build_event_json_file={events}", "--show_result=0"]
        status = subprocess.run(["bazel", "build", *options, *words], cwd=REPO, check=False, stdout=2).returncode
        report = tally(entries(_read(log)), disk_cache_of(entries(_read(events))))
    path = history_path()
    known = learn(report, read_history(path))
    if report.rows:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")
    estimate(report, known)
    if status:
        print(f"the build failed (exit code {status}); the figures are of what ran until then", file=sys.stderr)
    if for_programs:
        print(as_json(report))
    elif report.rows:
        print(table(report))
    elif not status:
        print("no action was asked for: all was up to date (more to see after `bazel clean`, or in a new clone)")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
