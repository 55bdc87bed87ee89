"""A runtime root with toy DSOs and toy bundles, for Python tests of the runtime's programs.

Knows where Bazel puts what it built; TRTMC_TEST_BUILD names another folder with the same files by hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

DSOS = ("libtrtmc_model_toy.so", "libtrtmc_backend_table.so", "libtoy_dependency.so")


def built(path: str) -> Path:
    """Absolute path of a file that Bazel built, such as "cc/cli/trtmc"."""
    by_hand = os.environ.get("TRTMC_TEST_BUILD")
    found = Path(by_hand, Path(path).name) if by_hand else Path(path)
    return found.absolute()


def copy(source: Path, target: Path) -> Path:
    """Copies a program or library; whoever built it, it belongs to us and nobody else may change it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755)
    return target


def make_root(root: Path) -> Path:
    """bin/trtmc and lib/trtmc/ under `root`; returns the program."""
    for name in DSOS:
        copy(built(f"cc/testing/{name}"), root / "lib/trtmc" / name)
    return copy(built("cc/cli/trtmc"), root / "bin/trtmc")


def make_bundle(path: Path, *arguments: str) -> Path:
    """A toy bundle: after id i comes i + 1."""
    subprocess.run([built("cc/testing/toy_bundle"), path, *arguments], check=True)
    return path
