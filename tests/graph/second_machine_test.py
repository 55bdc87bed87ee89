"""A second checkout elsewhere, with its own output base and no network: a second machine with the same caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.harness import Checkout, can_unplug, checkout, sha256

BUNDLES = ("//families/llama:bundle", "//families/qwen:bundle")
# Everything that goes into a runtime and its bundles.
PRODUCTS = (*BUNDLES, "//cc:runtime_root")


@pytest.fixture(scope="module")
def first(tree: Checkout) -> Checkout:
    """The first machine: everything that it builds enters the caches."""
    tree.build(*PRODUCTS)
    return tree


def test_a_second_machine_without_network_takes_everything_from_the_caches(first: Checkout, tmp_path: Path) -> None:
    if not can_unplug():
        pytest.skip("not run here: no network namespace can be made")
    with checkout(tmp_path, "second", unplugged=True) as second:
        result = second.build(*PRODUCTS)
        assert result.spawns, "nothing was built"
        assert result.executed() == [], "these actions missed the cache"
        for target in PRODUCTS:
            mine, theirs = first.files(target), second.files(target)
            assert [sha256(path) for path in mine] == [sha256(path) for path in theirs]


def test_another_folder_without_any_cache_gives_the_same_bytes(first: Checkout, tmp_path: Path) -> None:
    with checkout(tmp_path, "afresh") as second:
        result = second.build("--disk_cache=", *BUNDLES, "//cc/text/rust")
        assert {"TrtmcEngine", "TrtmcBundle", "TrtmcCheckpoint", "CargoStaticlib"} <= {
            spawn.mnemonic for spawn in result.executed()
        }
        for target in (*BUNDLES, "//cc/text/rust"):
            assert [sha256(path) for path in first.files(target)] == [sha256(path) for path in second.files(target)], (
                target
            )


def test_workspace_mode_gives_the_same_bundles(first: Checkout, tmp_path: Path) -> None:
    with checkout(tmp_path, "workspace") as second:
        second.build("--config=workspace", "--nobuild", "//...")
        second.build("--config=workspace", "--disk_cache=", *BUNDLES)
        for target in BUNDLES:
            assert [sha256(path) for path in first.files(target)] == [
                sha256(path) for path in second.files(target, "--config=workspace")
            ], target
