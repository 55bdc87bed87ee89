"""Every external input of a build, by hash: wheels, source archives, Debian packages, checkpoints and Bazel itself.
Read from the locks and MODULE.bazel.

It fetches nothing and knows nothing of kits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from third_party.fetch.debs import parse_lock


class Kind(StrEnum):
    """How a file is fetched when nobody has it."""

    WHEEL = "wheel"
    SDIST = "sdist"
    DEB = "deb"
    HUB = "hub"


@dataclass(frozen=True, order=True)
class Pin:
    """One file of the outside world; `origin` says how to ask for it: NAME==VERSION, a lock line, a revision."""

    sha256: str
    file: str
    kind: Kind
    origin: str

    @property
    def title(self) -> str:
        """What people know the file as."""
        return self.file if self.kind is Kind.DEB else f"{self.file} ({self.origin})"


def _dictionary(path: Path, variable: str) -> dict[str, Any]:
    """The dictionary that a generated .bzl file holds."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == variable:
            return dict(ast.literal_eval(node.value))
    raise ValueError(f"{path} does not define {variable}")


def _wheels(third_party: Path, python: str) -> Iterator[Pin]:
    for name, entry in _dictionary(third_party / "wheels.lock.bzl", "WHEELS").items():
        file, sha256 = entry["files"].get(python) or entry["files"].get("any") or ("", "")
        if file:
            yield Pin(sha256, file, Kind.WHEEL, f"{name}=={entry['version']}")


def _sdists(third_party: Path) -> Iterator[Pin]:
    for name, entry in _dictionary(third_party / "sdists.lock.bzl", "SDISTS").items():
        yield Pin(entry["sha256"], entry["file"], Kind.SDIST, f"{name}=={entry['version']}")


def _debs(third_party: Path) -> Iterator[Pin]:
    lines = [line for group in _dictionary(third_party / "debs.lock.bzl", "DEBS").values() for line in group]
    for pin in parse_lock("\n".join([*lines, (third_party / "bazel.debs.lock").read_text("utf-8")])):
        yield Pin(pin.sha256, pin.file_name, Kind.DEB, pin.line())


def _checkpoints(module: Path) -> Iterator[Pin]:
    """Calls `checkpoints.wheel(...)` and `checkpoints.hub(...)` of MODULE.bazel, whose syntax is also Python's."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "checkpoints"):
            continue
        given = {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
        if node.func.attr == "wheel":
            yield Pin(given["sha256"], given["file"], Kind.WHEEL, f"{given['package']}=={given['version']}")
        elif node.func.attr == "hub":
            for name, sha256 in given["files"].items():
                yield Pin(sha256, name.rpartition("/")[2], Kind.HUB, f"{given['model']}@{given['revision']}/{name}")


def pins(tree: Path, python: str) -> list[Pin]:
    """All pins of a source tree for one version of Python, each file once, by name."""
    third_party = tree / "third_party"
    every = [
        *_wheels(third_party, python),
        *_sdists(third_party),
        *_debs(third_party),
        *_checkpoints(tree / "MODULE.bazel"),
    ]
    return sorted({pin.sha256: pin for pin in every}.values(), key=lambda pin: (pin.file, pin.sha256))
