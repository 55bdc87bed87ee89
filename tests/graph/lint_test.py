"""The tree keeps its own rules: sizes, docstrings, no registry is addressed, ruff has nothing to say."""

from __future__ import annotations

from tests.graph.harness import ROOT
from tools.lint import main


def test_nothing_to_complain_about() -> None:
    assert main.complaints(ROOT) == []


def test_ruff_has_nothing_to_say() -> None:
    assert main.ruff(ROOT, "check"), "see above; `make format` repairs most of it"
