"""A cache for many machines: a second clone takes everything from it, and one that is dead, slow or lying breaks
and poisons nothing.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.harness import Checkout, checkout, sha256
from tests.graph.http_cache import Cache, Mood, serve

#: One action with a blob of some megabytes and a descriptor of a few hundred bytes.
SMALL = "//containers:base"
BIG = "//families/llama:bundle"
Filled = tuple[Cache, list[str], list[str]]
QUICK = ("--remote_timeout=5", "--remote_retries=1")


def only(cache: Cache) -> tuple[str, ...]:
    """Options that leave this cache as the only one."""
    return (
        "--config=remote-cache",
        f"--remote_cache={cache.url}",
        "--remote_upload_local_results=true",
        "--disk_cache=",
    )


def answer(tree: Checkout, target: str = SMALL) -> list[str]:
    return [sha256(path) for path in tree.files(target)]


@pytest.fixture(scope="module")
def filled(tree: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A cache that one machine filled, and what is right."""
    with serve(tmp_path_factory.mktemp("cache")) as cache:
        tree.bazel("clean")
        tree.build(*only(cache), SMALL, BIG)
        yield cache, answer(tree), answer(tree, BIG)
        cache.mood = Mood.HONEST


def test_a_second_clone_takes_everything_from_the_shared_cache(filled: Filled, tmp_path: Path) -> None:
    cache, right, _ = filled
    with checkout(tmp_path, "clone") as clone:
        spawns = clone.build(*only(cache), SMALL)
        assert spawns.spawns and spawns.executed() == []
        assert answer(clone) == right


@pytest.mark.parametrize("disk", [False, True], ids=["alone", "with_a_disk_cache"])
@pytest.mark.parametrize("mood", [mood for mood in Mood if mood is not Mood.HONEST], ids=lambda mood: mood.name.lower())
def test_bld_1_a_lying_cache_poisons_nothing(
    tree: Checkout, filled: Filled, tmp_path: Path, mood: Mood, disk: bool
) -> None:
    cache, right, _ = filled
    own = f"--disk_cache={tmp_path}/own" if disk else "--disk_cache="
    tree.bazel("clean")
    before = cache.asked["fault"]
    cache.mood = mood
    try:
        result = tree.build(*only(cache), own, *QUICK, SMALL)
    finally:
        cache.mood = Mood.HONEST
    assert cache.asked["fault"] > before, "the fault was never met"
    assert result.executed("TrtmcImageLayer"), "it was built again"
    assert answer(tree) == right
    tree.bazel("clean")
    spawns = tree.build("--remote_cache=", own, SMALL)
    assert answer(tree) == right
    if disk and mood in (Mood.CUTS, Mood.SWAPS):  # after a failed question Bazel keeps nothing, which is safe
        assert spawns.executed() == [], "what was built again is in the disk cache"


def test_bld_1_a_big_engine_cut_in_half_is_built_again(tree: Checkout, filled: Filled, tmp_path: Path) -> None:
    cache, _, right = filled
    tree.bazel("clean")
    cache.mood, cache.threshold = Mood.CUTS, 100_000_000
    try:
        tree.build(*only(cache), f"--disk_cache={tmp_path}/own", *QUICK, BIG)
    finally:
        cache.mood, cache.threshold = Mood.HONEST, 0
    assert answer(tree, BIG) == right
    tree.bazel("clean")
    assert tree.build("--remote_cache=", f"--disk_cache={tmp_path}/own", BIG).executed() == []
    assert answer(tree, BIG) == right
    shutil.rmtree(tmp_path / "own")


def test_a_cache_that_is_not_there_costs_a_warning(tree: Checkout, filled: Filled) -> None:
    tree.bazel("clean")
    result = tree.build("--config=remote-cache", "--remote_cache=http://127.0.0.1:9", "--disk_cache=", *QUICK, SMALL)
    assert answer(tree) == filled[1]
    assert "WARNING" in result.text and "127.0.0.1:9" in result.text
