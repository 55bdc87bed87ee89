"""One second checkout for all tests of a worker that need no fresh one: each leaves its files as it found them.

Tests marked `long` take longer than all others together; they run with `--long`.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.graph.harness import Checkout, checkout

#: The files that take longest come first, so that two workers end at about the same time.
FIRST = ("second_machine_test", "airgap_test", "keys_test", "images_test", "gpu_engines_test", "remote_cache_test")


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A checkout with an output base of its own and the machine's caches."""
    with checkout(tmp_path_factory.mktemp("shared"), "tree") as here:
        yield here


def pytest_addoption(parser: pytest.Parser) -> None:
    """--long."""
    parser.addoption("--long", action="store_true", help="also run what takes most of an hour")


def pytest_configure(config: pytest.Config) -> None:
    """The mark."""
    config.addinivalue_line("markers", "long: takes most of an hour; run with --long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest files first; within a file nothing changes. Leaves long tests out unless they are asked for."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
    left_out = [] if config.getoption("--long") else [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]
