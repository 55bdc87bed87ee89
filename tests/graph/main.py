"""`bazel run //tests/graph`: runs the tests of this folder with the pinned pytest; further arguments are pytest's.

Two files at a time where the machine has room: Bazel waits a good deal for a disk, a server's start or one thread.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

#: Each worker has two Bazel servers and an engine in the making.
GIGABYTES_OF_A_WORKER = 3


def workers(cores: int, gigabytes: float) -> int:
    """How many files are tested at a time; 0 is pytest's own process."""
    found = min(cores, int(gigabytes / GIGABYTES_OF_A_WORKER), 2)
    return found if found > 1 else 0


def room() -> tuple[int, float]:
    """Cores that this process may use, and gigabytes that are free."""
    lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text("utf-8").splitlines())
    return len(os.sched_getaffinity(0)), int(lines["MemAvailable"].split()[0]) / 1e6


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # `make test` reads through a pipe; a line a test shows how far it is
    here = Path(__file__).parent
    options = ["-p", "no:cacheprovider", f"--rootdir={here}", "-c", os.devnull, "-ra", "--durations=10"]
    # A file's tests share a checkout, and the order of files is that of conftest.py.
    options += ["-n", str(workers(*room())), "--dist=loadfile", "--no-loadscope-reorder"]
    sys.exit(pytest.main([*options, *(sys.argv[1:] or ["-v"]), str(here)]))
