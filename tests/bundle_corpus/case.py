"""One case of the corpus, and the two ways to make one from the good bundle's header."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.bundle_corpus import sample
from tests.bundle_corpus.sample import SECTIONS, Json, assemble, canonical


@dataclass(frozen=True)
class Case:
    """One file and its verdict: "ok", or a slug without the leading "bundle."."""

    name: str
    data: bytes
    verdict: str


def edited(change: Callable[[Json], object]) -> bytes:
    """The good bundle with a changed header value, its hash made right again."""
    value = sample.header()
    change(value)
    return assemble(canonical(value), SECTIONS)


def put(*path: str | int, to: Json) -> Callable[[Json], None]:
    """A change that sets one value."""

    def change(value: Json) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change
