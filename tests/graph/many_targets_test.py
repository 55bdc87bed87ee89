"""Bundles for many targets at once: what does not depend on the target is one action for all of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import pytest

from tests.graph.harness import Checkout

OF_A_TARGET = {"TrtmcEngine", "TrtmcBundle", "TrtmcVerify", "FileWrite"}


@pytest.mark.parametrize("family", ["llama", "qwen"])
def test_only_engines_and_bundles_are_made_for_each_target(tree: Checkout, family: str) -> None:
    result = tree.bazel("aquery", "--output=jsonproto", f"deps(//families/{family}:bundles)")
    assert result.code == 0, result.text
    value = json.loads(result.stdout)
    names = {entry["id"]: entry["mnemonic"] for entry in value["configuration"]}
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    for action in value["actions"]:
        kinds[names[action["configurationId"]]][action["mnemonic"]] += 1
    by_target = {name: found for name, found in kinds.items() if "-ST-" in name and "exec" not in name}
    assert len(by_target) == 7, f"the CPU's is the configuration of the command line: {sorted(kinds)}"
    for name, found in by_target.items():
        assert found == Counter(dict.fromkeys(OF_A_TARGET, 1)), name
    assert sum(found["TrtmcCheckpoint"] for found in kinds.values()) == (1 if family == "llama" else 2)


def test_one_checkpoint_whatever_the_command_line_s_target(tree: Checkout) -> None:
    def made(*options: str) -> list[str]:
        query = "mnemonic(TrtmcCheckpoint, deps(//families/llama:bundle))"
        result = tree.bazel("aquery", "--output=jsonproto", *options, query)
        assert result.code == 0, result.text
        return [action["actionKey"] for action in json.loads(result.stdout)["actions"]]

    assert made() == made("--config=sm_89") == made("--config=rtx_portable")
