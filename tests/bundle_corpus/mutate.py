"""Seeded mutations of a good header: text that is nearly right, with a right hash, so that readers look at it.

The same seed gives the same mutants on every machine.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator

from tests.bundle_corpus import sample
from tests.bundle_corpus.sample import SECTIONS, Json, assemble, canonical

_FRAGMENTS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u0000", b"\\ud800", b"\xff", b"\xc2\x80", b"\x00", b" ", b"-",
    b"0", b"1e5", b"1.0", b"9223372036854775808", b"null", b"true", b"NaN", b'"a":1,', b'"kind":"native",', b"[[[[[[[[",
)  # fmt: skip
_VALUES: tuple[Json, ...] = (
    None, True, False, 0, 1, -1, 2**31, 2**63 - 1, -(2**63), 0.0, 0.5, -0.0, 1e300, 1e-300, "", "x", "a/b", "..",
    "\x00", "\u0085", "x" * 300, [], {}, [[]], {"a": 1}, 4096, 8192, 512,
)  # fmt: skip


def mutants(seed: int, count: int) -> Iterator[bytes]:
    """`count` bundles, about half broken in their text and half in their values."""
    generator = random.Random(seed)
    text = canonical(sample.header())
    for i in range(count):
        changed = _mutate_text(generator, text) if i % 2 else canonical(_mutate_value(generator))
        yield assemble(changed, SECTIONS)


def _mutate_text(generator: random.Random, text: bytes) -> bytes:
    for _ in range(generator.choice((1, 1, 1, 2, 4))):
        at = generator.randrange(len(text))
        kind = generator.randrange(5)
        if kind == 0:
            text = text[:at] + bytes([generator.randrange(256)]) + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + generator.choice(_FRAGMENTS) + text[at:]
        elif kind == 2:
            text = text[:at] + text[at + generator.randrange(1, 20) :]
        elif kind == 3:
            end = at + generator.randrange(1, 60)
            text = text[:end] + text[at:end] + text[end:]
        else:
            other = generator.randrange(len(text))
            text = text[:at] + text[other : other + generator.randrange(1, 40)] + text[at:]
    return text


def _mutate_value(generator: random.Random) -> Json:
    value = copy.deepcopy(sample.header())
    for _ in range(generator.choice((1, 1, 2, 3))):
        holder, key = generator.choice(list(_places(value)))
        kind = generator.randrange(4)
        if kind == 0:
            holder[key] = copy.deepcopy(generator.choice(_VALUES))
        elif kind == 1:
            del holder[key]
        elif kind == 2 and isinstance(holder, dict):
            holder[generator.choice(("zzz", "name", "kind", "A", ""))] = copy.deepcopy(generator.choice(_VALUES))
        elif isinstance(holder, list):
            holder.append(copy.deepcopy(generator.choice(holder)))
        else:
            holder[key] = copy.deepcopy(holder[generator.choice(list(holder))])
        if not value:
            break
    return value


def _places(value: Json) -> Iterator[tuple[Json, str | int]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)
