"""docs/cpu-compiler.md lists exactly the layers that the code lowers and refuses."""

from __future__ import annotations

import re
from pathlib import Path

from trtmc.compilers.openvino.lowering.table import READ_OTHERWISE, REFUSED, RULES

PAGE = Path(__file__).absolute().parents[4] / "docs/cpu-compiler.md"


def _listed(start: str) -> list[str]:
    text = PAGE.read_text("utf-8")
    paragraph = text[text.index(f"\n{start}") :].split("\n\n", 1)[0]
    return re.findall(r"`([A-Z0-9_]+)`", paragraph)


def test_lowered_kinds() -> None:
    lowered = {kind for kind in RULES if "." not in kind} | READ_OTHERWISE
    assert _listed("Lowered:") == sorted(lowered)


def test_refused_kinds() -> None:
    assert _listed("Refused, with") == sorted(REFUSED)
