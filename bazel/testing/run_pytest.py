"""Runs pytest over the test files named on the command line, as a Bazel test; `-k`, `-x` and such may stand among them
(`--test_arg=-x`).

It makes the run self-contained: no cache folder, no configuration from above the runfiles, temporary files in Bazel's
own place.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest


def main(argv: list[str]) -> int:
    """Returns pytest's exit status; `no test collected` is a failure too."""
    here = Path.cwd()
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        f"--rootdir={here}",
        f"--confcutdir={here}",
        "--strict-markers",
        "-ra",
    ]
    options += ["-o", "xfail_strict=true", "-c", os.devnull]
    if xml := os.environ.get("XML_OUTPUT_FILE"):
        options.append(f"--junitxml={xml}")
    if chosen := os.environ.get("TESTBRIDGE_TEST_ONLY"):
        options += ["-k", chosen]
    if scratch := os.environ.get("TEST_TMPDIR"):
        options.append(f"--basetemp={scratch}/pytest")
    status = int(pytest.main([*options, *argv]))
    if status == pytest.ExitCode.NO_TESTS_COLLECTED:
        print("run_pytest: no test was collected; a test that cannot fail is a mistake", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
