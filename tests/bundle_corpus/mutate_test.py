"""Thousands of nearly right headers: no reader crashes, both give the same verdict.

TRTMC_BUNDLE_MUTANTS and TRTMC_BUNDLE_SEED make a longer or another run.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.bundle_corpus.judge import cpp_judge_all, judge_tool, python_verdict
from tests.bundle_corpus.mutate import mutants

SEED = int(os.environ.get("TRTMC_BUNDLE_SEED", "1"))
COUNT = int(os.environ.get("TRTMC_BUNDLE_MUTANTS", "3000"))


def test_mutants_are_varied() -> None:
    verdicts = Counter(python_verdict(data) for data in mutants(SEED, 800))
    assert len(verdicts) >= 10, verdicts


@pytest.mark.skipif(judge_tool() is None, reason="set TRTMC_BUNDLE_JUDGE to the C++ judge tool")
def test_readers_agree(tmp_path: Path) -> None:
    tool = judge_tool()
    if tool is None:
        raise RuntimeError("no judge tool")
    files = list(mutants(SEED, COUNT))
    cpp = cpp_judge_all(tool, tmp_path, files)
    for i, (data, verdict) in enumerate(zip(files, cpp, strict=True)):
        python = python_verdict(data)
        if python != verdict:
            kept = tmp_path / f"mutant-{i}.bundle"
            kept.write_bytes(data)
            pytest.fail(f"mutant {i} of seed {SEED}: Python says {python}, C++ says {verdict}; kept as {kept}")
