"""`make bench-graph`: how long the build graph takes: no change, one line changed, all in a cache, nothing in one;
and what a big image layer costs.

It works on a copy of the tree with an output base and a cache of its own (linked from this user's, unless --cold).
Each build is repeated, the median stands beside the range, and phases are Bazel's own, read from the profile of the
median's build. It judges nothing: goals and the disk's limit stand beside the figures.

    python3 bench/graph.py [--cold] [--only graph|layer] [--rounds N] [--targets //families/llama:image ...]

--cold: also with no cache at all.
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
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bench import layer
from tests.graph.harness import copy_tree
from tests.graph.http_cache import serve

TARGETS = [
    "//families/llama:bundles",
    "//families/mistral:bundles",
    "//families/qwen:bundles",
    "//families/llama:image",
]
CHANGED = "families/qwen/weights.py"
#: A package that is made in the copy: an image with one plain layer of a big file.
BIG = "bench_big_layer"
_BIG_BUILD = """load("//bazel:defs.bzl", "image", "image_layer")
image_layer(name = "layer", compression = "none", files = {":content": "/weights"})
image(name = "image", base = "//containers:runtime", layers = [":layer"], repository = "big")
"""


@dataclass
class Timing:
    """One build: wall seconds and those of each phase."""

    seconds: float
    phases: dict[str, float] = field(default_factory=dict)
    ran: str = ""


@dataclass
class Row:
    """One kind of build, done several times."""

    name: str
    goal: str
    timings: list[Timing]
    #: Bytes that the build had to bring into its output folder.
    size: int = 0

    @property
    def middle(self) -> Timing:
        """The build of the median time (the lower one of two)."""
        return sorted(self.timings, key=lambda timing: timing.seconds)[(len(self.timings) - 1) // 2]

    @property
    def range(self) -> str:
        """Fastest to slowest, where there are several."""
        times = sorted(timing.seconds for timing in self.timings)
        return f" ({times[0]:.2f}-{times[-1]:.2f})" if len(times) > 1 else ""


def phases(profile: Path) -> dict[str, float]:
    """Seconds of each phase, from the markers of a profile."""
    try:
        events = json.loads(gzip.decompress(profile.read_bytes()))["traceEvents"]
    except (OSError, EOFError, ValueError, KeyError):
        return {}
    marks = sorted((event["ts"], event["name"]) for event in events if event.get("cat") == "build phase marker")
    end = max((event["ts"] + event.get("dur", 0) for event in events if "ts" in event), default=0)
    found: dict[str, float] = {}
    for (begin, name), (until, _) in zip(marks, [*marks[1:], (end, "")], strict=True):
        found[name] = found.get(name, 0.0) + (until - begin) / 1e6
    return found


def size_of(folder: Path) -> int:
    """Bytes of all files below a folder; links are followed by nobody."""
    paths = [Path(at) / name for at, _, names in os.walk(folder) for name in names]
    return sum(path.lstat().st_size for path in paths if not path.is_symlink())


@dataclass
class Tree:
    """The copy, and how Bazel is called on it."""

    folder: Path
    base: Path
    targets: list[str]
    rounds: int

    def bazel(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """One command, which must succeed."""
        full = ["bazel", f"--output_base={self.base}", "--max_idle_secs=120", command, *words]
        done = subprocess.run(full, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"bench-graph: `bazel {command}` failed:\n{done.stderr[-3000:]}")
        return done

    def build(self, name: str, *options: str, targets: list[str] | None = None) -> Timing:
        """A timed build."""
        profile = self.base.parent / "profile.gz"
        begin = time.monotonic()
        done = self.bazel("build", f"--profile={profile}", "--show_result=0", *options, *(targets or self.targets))
        timing = Timing(time.monotonic() - begin, phases(profile))
        ran = [line for line in done.stderr.splitlines() if " process" in line and line.startswith("INFO: ")]
        timing.ran = ran[-1].removeprefix("INFO: ").rstrip(".") if ran else ""
        print(f"  {name}: {timing.seconds:.2f} s, load {os.getloadavg()[0]:.1f} ({timing.ran})", flush=True)
        return timing

    def row(self, name: str, goal: str, before: Callable[[], object], *options: str) -> Row:
        """A build, several times, each after what makes it such a build."""
        timings = []
        for _ in range(self.rounds):
            before()
            timings.append(self.build(name, *options))
        return Row(name, goal, timings)

    def clean(self) -> None:
        """Removes all outputs; analysis is kept by nobody."""
        self.bazel("clean")

    def outputs(self) -> int:
        """Bytes in the output folder."""
        return size_of(self.base / "execroot" / "_main" / "bazel-out")


def borrow(own: Path) -> None:
    """Links this user's disk cache to a folder of ours."""
    given = Path.home() / ".cache" / "trtmc" / "bazel"
    own.mkdir(parents=True)
    for kind in ("ac", "cas"):
        if (given / kind).is_dir():
            subprocess.run(["cp", "-al", str(given / kind), str(own / kind)], check=True)


def measure(tree: Tree, own: Path, cold: bool) -> list[Row]:
    """All builds, in an order in which each finds what it needs."""
    disk = f"--disk_cache={own}"
    rows = []
    if cold:
        rows.append(Row("fully cold", "", [tree.build("fully cold", disk)]))
    else:
        print("filling the cache, from this user's ...", flush=True)
        tree.build("(filling)")
        borrow(own)
        tree.clean()
        tree.build("(filling)", disk)
    rows.append(tree.row("null build", "< 1 s", lambda: None, disk))
    path = tree.folder / CHANGED
    before = path.read_text("utf-8")
    changed = tree.row(
        "one line in one family", "", lambda: path.write_text(f"{before}\n# {time.time_ns()}\n", "utf-8"), disk
    )
    rows.append(changed)
    path.write_text(before, "utf-8")
    rows.append(tree.row("clean build, warm disk cache", "< 60 s", tree.clean, disk))
    rows[-1].size = tree.outputs()
    with serve(own) as cache:
        remote = ("--config=remote-cache", f"--remote_cache={cache.url}", "--disk_cache=")
        rows.append(tree.row("clean build, warm HTTP cache", "", tree.clean, *remote))
        rows[-1].size = rows[-2].size
    return rows


def measure_big_layer(tree: Tree, own: Path) -> list[Row]:
    """A new file of 600 MB to a checked image, all through Bazel."""
    package = tree.folder / BIG
    package.mkdir()
    (package / "BUILD.bazel").write_text(_BIG_BUILD, "utf-8")
    tree.build("(filling)", targets=["//containers:runtime"])
    rows = []
    for name, disk in {"without a cache": "--disk_cache=", "with a disk cache": f"--disk_cache={own}"}.items():
        timings = []
        for _ in range(tree.rounds):
            layer.random_file(package / "content")
            timings.append(tree.build(f"600 MB to an image, {name}", disk, targets=[f"//{BIG}:image"]))
        rows.append(Row(f"600 MB to an image, {name}", "", timings, layer.SIZE))
    return rows


def table(rows: list[Row], limits: dict[str, float]) -> str:
    """The figures, as Markdown; `limits`: seconds to hash and to copy 600 MB here."""
    lines = ["| build | goal | median s (range) | one copy, one hash of its outputs, s | phases (s) | actions |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for row in rows:
        middle = row.middle
        parts = ", ".join(f"{name} {value:.2f}" for name, value in middle.phases.items() if value >= 0.01)
        least = [f"{row.size / layer.SIZE * limits[name]:.1f}" for name in ("copy", "hash")] if row.size else []
        said = f"{least[0]}, {least[1]} ({row.size / 1e9:.1f} GB)" if least else ""
        lines.append(f"| {row.name} | {row.goal} | {middle.seconds:.2f}{row.range} | {said} | {parts} | {middle.ran} |")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Measures and prints the tables."""
    parser = argparse.ArgumentParser(prog="bench-graph", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cold", action="store_true", help="also with no cache at all; many minutes")
    parser.add_argument("--only", choices=["graph", "layer"], help="half of it")
    parser.add_argument("--rounds", type=int, default=3, help="how often each build is done")
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    arguments = parser.parse_args(argv)
    if arguments.rounds < 1:
        parser.error(f"--rounds is {arguments.rounds}; at least 1 is needed")
    begin = os.getloadavg()[0]
    scratch = Path(tempfile.mkdtemp(prefix="trtmc-bench-graph-"))
    tree = Tree(scratch / "tree", scratch / "base", arguments.targets, arguments.rounds)
    tree.folder.mkdir()
    copy_tree(tree.folder)
    rows: list[Row] = []
    try:
        (scratch / "layer").mkdir()
        big = layer.measure(scratch / "layer", arguments.rounds)
        shutil.rmtree(scratch / "layer")
        if arguments.only != "layer":
            rows += measure(tree, scratch / "disk", arguments.cold)
        if arguments.only != "graph":
            rows += measure_big_layer(tree, scratch / "disk-of-layer")
    finally:
        subprocess.run(["bazel", f"--output_base={tree.base}", "shutdown"], cwd=tree.folder, check=False)
        subprocess.run(["chmod", "-R", "u+w", str(tree.base)], check=False)
        shutil.rmtree(scratch, ignore_errors=True)
    limits = {name: layer.median(cost.wall for cost in big[name]) for name in ("hash", "copy")}
    loads = f"load {begin:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(f"\n{os.cpu_count()} cores, {loads}; targets {' '.join(arguments.targets)}\n")
    print(f"{table(rows, limits)}\n\n{layer.table(big)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
