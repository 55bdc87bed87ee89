"""Engines for a GPU target, built again in another folder with another output base and no cache: the same bytes.

More circumstances, each in a process of its own: //tests/reproducible.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.graph.harness import Checkout, checkout, sha256


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """Another folder and output base."""
    with checkout(tmp_path_factory.mktemp("gpu"), "second") as here:
        yield here


@pytest.mark.parametrize("target", ["//families/llama:llm", "//families/qwen:llm"])
def test_gpu_engines_of_another_output_base(tree: Checkout, second: Checkout, target: str) -> None:
    tree.build("--config=sm_89", target)
    result = second.build("--config=sm_89", "--disk_cache=", target)
    assert [spawn.label for spawn in result.executed("TrtmcEngine")] == [target]
    mine, theirs = (side.files(target, "--config=sm_89") for side in (tree, second))
    assert [sha256(path) for path in mine] == [sha256(path) for path in theirs]
