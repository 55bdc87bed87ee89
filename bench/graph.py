"""`make bench-graph`: how long the build graph takes: no change, one line changed, all in a cache, nothing in one.

It works on a copy of the tree with an output base and a cache of its own (linked from this user's, unless --cold).
Phases are Bazel's own, read from its profile. It judges nothing: the goals stand beside the figures.

    python3 bench/graph.py [--cold] [--targets //families/llama:image ...]      --cold: also with no cache at all
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.graph.harness import copy_tree
from tests.graph.http_cache import serve

TARGETS = ["//families/llama:bundles", "//families/qwen:bundles", "//families/llama:image"]
CHANGED = "families/qwen/weights.py"


@dataclass
class Timing:
    """One build: wall seconds and those of each phase."""

    name: str
    goal: str
    seconds: float
    phases: dict[str, float] = field(default_factory=dict)
    ran: str = ""


def phases(profile: Path) -> dict[str, float]:
    """Seconds of each phase, from the markers of a profile."""
    try:
        events = json.loads(gzip.decompress(profile.read_bytes()))["traceEvents"]
    except (OSError, ValueError, KeyError):
        return {}
    marks = sorted((event["ts"], event["name"]) for event in events if event.get("cat") == "build phase marker")
    end = max((event["ts"] + event.get("dur", 0) for event in events if "ts" in event), default=0)
    found: dict[str, float] = {}
    for (begin, name), (until, _) in zip(marks, [*marks[1:], (end, "")], strict=True):
        found[name] = found.get(name, 0.0) + (until - begin) / 1e6
    return found


@dataclass
class Tree:
    """The copy, and how Bazel is called on it."""

    folder: Path
    base: Path
    targets: list[str]

    def bazel(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """One command, which must succeed."""
        full = ["bazel", f"--output_base={self.base}", "--max_idle_secs=120", command, *words]
        done = subprocess.run(full, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench-graph: `bazel {command}` failed:\n{done.stderr[-3000:]}")
        return done

    def build(self, name: str, goal: str, *options: str) -> Timing:
        """A timed build."""
        profile = self.base.parent / "profile.gz"
        begin = time.monotonic()
        done = self.bazel("build", f"--profile={profile}", "--show_result=0", *options, *self.targets)
        timing = Timing(name, goal, time.monotonic() - begin, phases(profile))
        ran = [line for line in done.stderr.splitlines() if " process" in line and line.startswith("INFO: ")]
        timing.ran = ran[-1].removeprefix("INFO: ").rstrip(".") if ran else ""
        print(f"  {name}: {timing.seconds:.2f} s ({timing.ran})", flush=True)
        return timing


def borrow(own: Path) -> None:
    """Links this user's disk cache to a folder of ours."""
    given = Path.home() / ".cache" / "trtmc" / "bazel"
    own.mkdir()
    for kind in ("ac", "cas"):
        if (given / kind).is_dir():
            subprocess.run(["cp", "-al", str(given / kind), str(own / kind)], check=True)


def measure(tree: Tree, caches: Path, cold: bool) -> list[Timing]:
    """All builds, in an order in which each finds what it needs."""
    own = caches / "disk"
    disk = f"--disk_cache={own}"
    rows = []
    if cold:
        rows.append(tree.build("fully cold", "", disk))
    else:
        print("filling the cache (from this user's) ...", flush=True)
        tree.build("(filling)", "")
        borrow(own)
        tree.bazel("clean")
        tree.build("(filling)", "", disk)
    rows.append(min((tree.build("null build", "< 1 s", disk) for _ in range(3)), key=lambda row: row.seconds))
    path = tree.folder / CHANGED
    before = path.read_text("utf-8")
    path.write_text(f"{before}\n# {time.time_ns()}\n", "utf-8")
    rows.append(tree.build("one line in one family", "", disk))
    path.write_text(before, "utf-8")
    tree.bazel("clean")
    rows.append(tree.build("clean build, warm disk cache", "< 60 s", disk))
    tree.bazel("clean")
    with serve(own) as cache:
        remote = ("--config=remote-cache", f"--remote_cache={cache.url}", "--disk_cache=")
        rows.append(tree.build("clean build, warm HTTP cache", "", *remote))
    return rows


def table(rows: list[Timing]) -> str:
    """The figures, as Markdown."""
    lines = ["| build | goal | wall s | phases (s) | actions |", "| --- | --- | --- | --- | --- |"]
    for row in rows:
        parts = ", ".join(f"{name} {value:.2f}" for name, value in row.phases.items() if value >= 0.01)
        lines.append(f"| {row.name} | {row.goal} | {row.seconds:.2f} | {parts} | {row.ran} |")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measures and prints the table."""
    parser = argparse.ArgumentParser(prog="bench-graph", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cold", action="store_true", help="also with no cache at all; many minutes")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    arguments = parser.parse_args(argv)
    scratch = Path(tempfile.mkdtemp(prefix="trtmc-bench-graph-"))
    tree = Tree(scratch / "tree", scratch / "base", arguments.targets)
    tree.folder.mkdir()
    copy_tree(tree.folder)
    try:
        rows = measure(tree, scratch, arguments.cold)
    finally:
        tree.bazel("shutdown")
        subprocess.run(["chmod", "-R", "u+w", str(tree.base)], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
    load = os.getloadavg()[0]
    print(
        f"\n{os.cpu_count()} cores, load {load:.1f} at the end; targets {' '.join(arguments.targets)}\n\n{table(rows)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
