"""`targets.json` is the build graph's table, once more for runs without it; the two must not differ."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from trtmc.core.errors import Unsupported
from trtmc.core.target import check_holds, holds, named_target, named_targets


def test_same_as_the_table_of_the_build_graph() -> None:
    table = os.environ.get("TRTMC_TARGETS_TABLE")
    if table is None:
        pytest.skip("the table is handed over by the build graph: bazel test //python/trtmc/core:targets_test")
    records = sorted(json.loads(table), key=lambda record: record["name"])
    wanted = "[\n" + ",\n".join("  " + json.dumps(record, sort_keys=True) for record in records) + "\n]\n"
    found = Path(__file__).with_name("targets.json").read_text("utf-8")
    assert found == wanted, f"write this into python/trtmc/core/targets.json:\n{wanted}"
    assert set(named_targets()) == {record["name"] for record in records}


def test_a_type_that_a_target_lacks_is_refused_by_name() -> None:
    check_holds(named_target("sm_75"), "fp16")
    with pytest.raises(Unsupported, match="target sm_75 cannot hold bf16: it holds fp16, int8") as caught:
        check_holds(named_target("sm_75"), "bf16")
    assert caught.value.code == "target.precision"
    assert "build for one of cpu_x86_64, rtx_portable, sm_100, sm_120" in caught.value.message


def test_a_target_of_one_s_own_may_hold_anything() -> None:
    assert holds(replace(named_target("sm_75"), name="mine"), "bf16")
