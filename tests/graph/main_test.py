"""How many of these files run at a time."""

from __future__ import annotations

import pytest

from tests.graph import main


@pytest.mark.parametrize(
    ("cores", "gigabytes", "expected"),
    [(2, 7.5, 2), (64, 500.0, 2), (1, 64.0, 0), (2, 5.9, 0), (2, 0.5, 0)],
)
def test_two_at_a_time_where_there_is_room(cores: int, gigabytes: float, expected: int) -> None:
    assert main.workers(cores, gigabytes) == expected


def test_this_machine_can_be_asked() -> None:
    cores, gigabytes = main.room()
    assert cores >= 1 and gigabytes > 0
