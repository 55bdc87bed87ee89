"""`targets.json` is the build graph's table, once more for runs without it; the two must not differ."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trtmc.core.target import named_targets


def test_same_as_the_table_of_the_build_graph() -> None:
    table = os.environ.get("TRTMC_TARGETS_TABLE")
    if table is None:
        pytest.skip("the table is handed over by the build graph: bazel test //python/trtmc/core:targets_test")
    records = sorted(json.loads(table), key=lambda record: record["name"])
    wanted = "[\n" + ",\n".join("  " + json.dumps(record, sort_keys=True) for record in records) + "\n]\n"
    found = Path(__file__).with_name("targets.json").read_text("utf-8")
    assert found == wanted, f"write this into python/trtmc/core/targets.json:\n{wanted}"
    assert set(named_targets()) == {record["name"] for record in records}
