"""One version everywhere: module, image labels, builder and runtime."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from trtmc.core.version import VERSION

ROOT = Path(__file__).absolute().parent.parent


def stated(name: str) -> str:
    found = re.search(r'(?:version|VERSION) = "([^"]+)"', (ROOT / name).read_text("utf-8"))
    assert found is not None
    return found[1]


def test_every_place_states_the_same_version() -> None:
    runtime = subprocess.run(
        [ROOT / "cc/cli/trtmc", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    assert {stated("MODULE.bazel"), stated("bazel/version.bzl"), runtime} == {VERSION}
