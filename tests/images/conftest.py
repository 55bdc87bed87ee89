"""One engine and one registry for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.images import services


@pytest.fixture(scope="session")
def engine() -> Iterator[services.Engine]:
    """A Docker engine of our own."""
    with services.engine() as running:
        yield running


@pytest.fixture(scope="session")
def registry() -> Iterator[str]:
    """A registry on the loopback interface: host:port."""
    with services.registry() as address:
        yield address
