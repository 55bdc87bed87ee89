"""One second checkout for all tests of a worker that need no fresh one: each leaves its files as it found them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.graph.harness import Checkout, checkout

#: The files that take longest come first, so that two workers end at about the same time.
FIRST = ("second_machine_test", "airgap_test", "keys_test", "images_test", "gpu_engines_test", "remote_cache_test")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the longest files first; within a file nothing changes."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A checkout with an output base of its own and the machine's caches."""
    with checkout(tmp_path_factory.mktemp("shared"), "tree") as here:
        yield here
