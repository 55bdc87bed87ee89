"""Judges all cases and writes expectations.json and docs/onnx-conformance.md.

bazel run //tests/onnx_conformance:update                      refuses to make any case worse
bazel run //tests/onnx_conformance:update -- --accept-worse    after a change that is meant to
"""

from __future__ import annotations

import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.onnx_conformance import expectations, page
from tests.onnx_conformance.isolate import judged
from tests.onnx_conformance.judge import Judgement

_PROCESSES = 2


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    root = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", Path(__file__).absolute().parents[2]))
    file = root / "tests/onnx_conformance/expectations.json"
    found: dict[str, Judgement] = {}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(_PROCESSES) as pool:
        for part in pool.map(lambda i: judged(i, _PROCESSES, Path(folder)), range(_PROCESSES)):
            found |= part
    before = expectations.read(file) if file.is_file() else {}
    changes = expectations.changes(before, found)
    print("\n".join(changes) or "nothing changed")
    worse = [name for name, j in found.items() if name in before and expectations.is_worse(before[name], j)]
    if worse and "--accept-worse" not in arguments:
        print(f"{len(worse)} cases got worse; nothing is written (--accept-worse writes it all the same)")
        return 1
    file.write_text(expectations.text(found), "utf-8")
    (root / "docs/onnx-conformance.md").write_text(page.text(found), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
