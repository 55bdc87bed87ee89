"""Runs both readers over the same bytes: the Python reader in this process, the C++ reader through its judge tool."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from trtmc.bundle import read_bundle
from trtmc.core.errors import TrtmcError


def python_verdict(data: bytes) -> str:
    """ "ok" or the slug, from the Python reader with full verification."""
    descriptor = os.memfd_create("bundle")
    try:
        os.write(descriptor, data)
        with read_bundle(Path(f"/proc/self/fd/{descriptor}"), verify="full"):
            return "ok"
    except TrtmcError as error:
        return error.code
    finally:
        os.close(descriptor)


def judge_tool() -> Path | None:
    """The C++ tool: from $TRTMC_BUNDLE_JUDGE, or among this test's runfiles; None outside of a build."""
    named = os.environ.get("TRTMC_BUNDLE_JUDGE")
    if named:
        return Path(named).absolute()
    beside = Path(__file__).absolute().parents[2] / "cc" / "bundle" / "judge"
    return beside if beside.is_file() else None


def cpp_verdicts(tool: Path, base: Path, orders: Sequence[str]) -> list[str]:
    """The C++ reader's verdict for each order (see cc/bundle/judge_tool.cc) over the file `base`."""
    text = "".join(f"{order}\n" for order in orders)
    run = subprocess.run([tool, base], input=text, capture_output=True, text=True, check=False)
    if run.returncode:
        raise RuntimeError(f"the judge tool ended with {run.returncode}: {run.stderr}")
    return run.stdout.splitlines()


def cpp_judge_all(tool: Path, folder: Path, files: Sequence[bytes]) -> list[str]:
    """Verdicts for many files, which are put one after the other into one file in `folder`."""
    base, orders, offset = folder / "all.bin", [], 0
    with base.open("wb") as stream:
        for data in files:
            stream.write(data)
            orders.append(f"slice {offset} {len(data)}")
            offset += len(data)
    return cpp_verdicts(tool, base, orders)
