"""Golden files: the test compares, and the failing test says how to update.

    check_golden(Path(__file__).parent / "testdata" / "tiny.network.txt", text)

With TRTMC_UPDATE_GOLDENS=1 in the environment of a plain pytest run the file is written instead.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path


def check_golden(path: Path, found: str) -> None:
    """Compares a text with a file of the source tree."""
    if os.environ.get("TRTMC_UPDATE_GOLDENS") == "1":
        path.write_text(found, "utf-8")
        return
    wanted = path.read_text("utf-8") if path.exists() else ""
    if found != wanted:
        lines = difflib.unified_diff(wanted.splitlines(), found.splitlines(), path.name, "now", lineterm="", n=1)
        shown = "\n".join(list(lines)[:40])
        command = "TRTMC_UPDATE_GOLDENS=1 PYTHONPATH=python:. python3 -m pytest families -k golden"
        raise AssertionError(
            f"{path.name} differs:\n{shown}\n\nIf that is meant, update it from the root with\n  {command}"
        )
