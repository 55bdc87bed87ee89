"""One second checkout for all tests that do not need a fresh one: each leaves its files as it found them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.graph.harness import Checkout, checkout


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A checkout with an output base of its own and the machine's caches."""
    with checkout(tmp_path_factory.mktemp("shared"), "tree") as here:
        yield here
