"""The table of what targets can hold, measured again: a tiny network for each type, compiled for each RTX target."""

from __future__ import annotations

import pytest

from trtmc.compilers.tensorrt.capabilities_testing import kinds, plan_or_words
from trtmc.core.target import target_table

RTX = {name: row for name, row in target_table().items() if row.info.compiler == "tensorrt_rtx"}
EXACT = sorted(name for name, row in RTX.items() if row.info.compute_capability)


@pytest.mark.parametrize("target", EXACT)
def test_the_table_says_what_tensorrt_does(target: str) -> None:
    measured = {kind: plan_or_words(RTX[target].info, kind) for kind in kinds()}
    assert set(measured) == {kind for row in RTX.values() for kind in row.holds}
    holds = {kind for kind, (built, _) in measured.items() if built}
    assert holds == set(RTX[target].holds), f"measured for {target}: {measured}"
    for kind, (built, words) in measured.items():
        wanted = "FP32 GEMM is not supported" if kind == "fp32" else "HW-specific datatypes"
        assert built or wanted in words, f"{kind} fails for a reason of its own: {words}"


def test_the_portable_target_holds_what_all_of_its_gpus_hold() -> None:
    covered = [set(RTX[name].holds) for name in EXACT if name != "sm_75"]
    assert set(RTX["rtx_portable"].holds) == set.intersection(*covered)
    assert all(plan_or_words(RTX["rtx_portable"].info, kind)[0] for kind in RTX["rtx_portable"].holds)
