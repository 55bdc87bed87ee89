"""`bazel run //tests/graph`: runs the tests of this folder with the pinned pytest; further arguments are pytest's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # `make test` reads through a pipe; a line a test shows how far it is
    here = Path(__file__).parent
    options = ["-p", "no:cacheprovider", f"--rootdir={here}", "-c", os.devnull, "-ra", "--durations=10"]
    sys.exit(pytest.main([*options, *(sys.argv[1:] or ["-v"]), str(here)]))
