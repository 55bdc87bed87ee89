"""What an image layer of 600 MB costs, beside the least that it can cost: hashing the file once and copying it once
on the same disk.

Rounds are interleaved, so that load hits both alike. The page cache is warm, nothing is synced. It knows the image
tool's command line and nothing of Bazel.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
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

    def hash(self) -> None:
        """The least: SHA-256 of the file."""
        with open(self.content, "rb") as handle:
            hashlib.file_digest(handle, "sha256")

    def copy(self) -> None:
        """The least: one write of it."""
        (self.folder / "copy").unlink(missing_ok=True)
        shutil.copyfile(self.content, self.folder / "copy")

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


def seconds(step: Callable[[], None]) -> float:
    """How long it takes."""
    begin = time.monotonic()
    step()
    return time.monotonic() - begin


def measure(folder: Path, rounds: int = 5, size: int = SIZE) -> dict[str, list[float]]:
    """Seconds of each step, by name, one for each round."""
    steps = Steps(folder, random_file(folder / "content", size))
    names = ("hash", "copy", "layer", "image", "check")
    for name in names:  # once for the page cache and for Python's own files
        getattr(steps, name)()
    found: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            found[name].append(seconds(getattr(steps, name)))
    return found


def table(found: dict[str, list[float]], size: int = SIZE) -> str:
    """Medians, as Markdown, and how far the layer is from its least."""
    say = {
        "hash": "SHA-256 of the file",
        "copy": "one copy of it",
        "layer": "layer: hashed",
        "image": "archive: written",
        "check": "check of the archive (nothing waits for it)",
    }
    lines = [f"| {size / 1e6:.0f} MB, {len(found['hash'])} rounds | median s | range |", "| --- | --- | --- |"]
    lines += [f"| {say[name]} | {median(row):.2f} | {min(row):.2f}-{max(row):.2f} |" for name, row in found.items()]
    pairs = zip(found["hash"], found["copy"], found["layer"], found["image"], strict=True)
    ratio = median((layer + image) / (digest + copy) for digest, copy, layer, image in pairs)
    lines.append(f"| **layer and archive against hash and copy**, median of rounds | {ratio:.2f} times | goal 1 |")
    return "\n".join(lines)
