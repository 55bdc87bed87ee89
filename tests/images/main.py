"""`bazel run //tests/images`: runs the tests of this folder with the pinned pytest; further arguments are pytest's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    here = Path(__file__).parent
    options = ["-p", "no:cacheprovider", f"--rootdir={here}", "-c", os.devnull, "-ra", "--durations=5"]
    sys.exit(pytest.main([*options, *(sys.argv[1:] or ["-q"]), str(here)]))
