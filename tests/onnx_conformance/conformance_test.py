"""Every node case of the onnx wheel does what expectations.json says: no worse, and no better without saying so.

One Bazel shard judges its part of the cases.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.onnx_conformance import expectations
from tests.onnx_conformance.isolate import judged

SHARD, SHARDS = (int(os.environ.get(f"TEST_{key}", d)) for key, d in (("SHARD_INDEX", 0), ("TOTAL_SHARDS", 1)))


def test_every_case_does_what_is_expected(tmp_path: Path) -> None:
    status = os.environ.get("TEST_SHARD_STATUS_FILE")
    if status:
        Path(status).touch()
    found = judged(SHARD, SHARDS, tmp_path)
    changes = expectations.changes(expectations.read(), found)
    assert not changes, (
        f"{len(changes)} cases did something else than expected; after a look at each, `{expectations.UPDATE}` "
        "writes the new expectations and the page (it refuses regressions):\n" + "\n".join(changes)
    )


@pytest.mark.skipif(SHARD != 0, reason="one shard asks for all")
def test_no_case_is_expected_twice_or_forgotten() -> None:
    from tests.onnx_conformance.cases import all_cases

    names = [case.name for case in all_cases()]
    assert sorted(names) == sorted(expectations.read()), f"the onnx wheel has other cases; run `{expectations.UPDATE}`"
