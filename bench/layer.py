"""What an image layer of 600 MB costs, beside the least that it can cost: hashing the file once and copying it once
on the same disk.

Rounds are interleaved, so that load hits both alike, and processor time stands beside wall time, which load does not
change. The page cache is warm, nothing is synced. It knows the image tool's command line and nothing of Bazel.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
SIZE = 600_000_000


def random_file(path: Path, size: int = SIZE) -> Path:
    """A file that does not shrink and that no cache knows."""
    with open(path, "wb") as handle:
        for begin in range(0, size, 1 << 24):
            handle.write(os.urandom(min(1 << 24, size - begin)))
    return path


def _tool(*words: str | Path) -> None:
    command = [sys.executable, "-m", "bazel.private.tools.image.main", *map(str, words)]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)})


def _write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value), "utf-8")
    return path


class Steps:
    """Each step of the two ways, on one file."""

    def __init__(self, folder: Path, content: Path) -> None:
        self.folder, self.content = folder, content
        row = {"path": "bin/app", "source": str(content), "mode": "0755"}
        manifest = {"name": "big", "architecture": "amd64", "compression": "none", "files": [row]}
        self.manifest = _write(folder / "manifest.json", manifest)
        target = {"name": "cpu_x86_64", "compiler": "openvino", "compiler_version": "0"}
        layer = {"descriptor": str(folder / "layer.json"), "manifest": str(self.manifest), "blob": None}
        spec = {
            "architecture": "amd64",
            "bundle": None,
            "config": {"Entrypoint": ["/bin/app"], "User": "65532:65532"},
            "label": "//bench:layer",
            "labels": {},
            "layers": [layer],
            "repository": "bench",
            "sources": [],
            "stamp": None,
            "target_info": str(_write(folder / "target.json", target)),
            "version": "0",
        }
        self.spec = _write(folder / "image.json", spec)
        self.nothing = folder / "nothing.txt"
        self.nothing.write_text("")

    def hash(self) -> None:
        """The least: SHA-256 of the file."""
        with open(self.content, "rb") as handle:
            hashlib.file_digest(handle, "sha256")

    def copy(self) -> None:
        """The least: one write of it."""
        (self.folder / "copy").unlink(missing_ok=True)
        shutil.copyfile(self.content, self.folder / "copy")

    def start(self) -> None:
        """The start of the tool, which each action pays."""
        _tool("sources", self.nothing, self.folder / "nothing.json")

    def layer(self) -> None:
        """The layer's action."""
        _tool("layer", self.manifest, self.folder / "layer.json")

    def image(self) -> None:
        """The archive's action."""
        (self.folder / "image.tar").unlink(missing_ok=True)
        _tool("image", self.spec, self.folder / "image.tar", self.folder / "digests.json")

    def check(self) -> None:
        """The archive's check, a validation that nothing waits for."""
        _tool("check", self.folder / "image.tar", self.folder / "checked.json")


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock and of the processor, those of processes that were started included."""

    wall: float
    cpu: float


def _cpu() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def cost(step: Callable[[], object]) -> Cost:
    """What it takes."""
    begin, cpu = time.monotonic(), _cpu()
    step()
    return Cost(time.monotonic() - begin, _cpu() - cpu)


def measure(folder: Path, rounds: int = 5, size: int = SIZE) -> dict[str, list[Cost]]:
    """What each step takes, by name, one for each round."""
    steps = Steps(folder, random_file(folder / "content", size))
    names = ("hash", "copy", "start", "layer", "image", "check")
    for name in names:  # once for the page cache and for Python's own files
        getattr(steps, name)()
    found: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(cost(getattr(steps, name)))
    return found


def table(found: dict[str, list[Cost]], size: int = SIZE) -> str:
    """Medians, as Markdown, and how far the layer is from its least."""
    say = {
        "hash": "SHA-256 of the file",
        "copy": "one copy of it",
        "start": "start of the image tool, paid by each action",
        "layer": "layer: hashed",
        "image": "archive: written",
        "check": "check of the archive (nothing waits for it)",
    }
    middle = {
        name: Cost(median(one.wall for one in row), median(one.cpu for one in row)) for name, row in found.items()
    }
    lines = [f"| {size / 1e6:.0f} MB, medians of {len(found['hash'])} | wall s | range | CPU s |"]
    lines.append("| --- | --- | --- | --- |")
    for name, row in found.items():
        walls = [one.wall for one in row]
        one = middle[name]
        lines.append(f"| {say[name]} | {one.wall:.2f} | {min(walls):.2f}-{max(walls):.2f} | {one.cpu:.2f} |")
    for what, starts in {"layer and archive": 0, "the same without two starts": 2}.items():
        cells = []
        for kind in ("wall", "cpu"):
            value = {name: getattr(one, kind) for name, one in middle.items()}
            ours = value["layer"] + value["image"] - starts * value["start"]
            cells.append(f"{ours / (value['hash'] + value['copy']):.2f} times")
        lines.append(f"| **{what}** against hash and copy; goal 1 | {cells[0]} |  | {cells[1]} |")
    return "\n".join(lines)
