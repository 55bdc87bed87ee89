"""Random but repeatable damage to JSON values, for tests that a reader only ever succeeds or says what is wrong."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

STRANGE: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    3,
    2**16,
    2**31 - 1,
    2**31,
    2**63,
    10**30,
    -(2**40),
    0.5,
    -0.0,
    1e-320,
    1e308,
    "",
    "silu",
    "default",
    "llama3",
    "☃",
    [],
    [None],
    [1, 2],
    ["full_attention"],
    {},
    {"rope_type": "llama3"},
    {"factor": 2.0, "type": "linear"},
)


def mutations(value: dict[str, Any], count: int, seed: int) -> Iterator[dict[str, Any]]:
    """Copies of `value` in which a few keys, nested ones too, got a strange value, another's value, or vanished."""
    rng = random.Random(seed)
    for _ in range(count):
        changed = copy.deepcopy(value)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _damage(changed, rng)
        yield changed


def _damage(root: dict[str, Any], rng: random.Random) -> None:
    target = root
    while target and rng.random() < 0.3:
        nested = [v for v in target.values() if isinstance(v, dict) and v]
        if not nested:
            break
        target = rng.choice(nested)
    key = rng.choice([*target, "unheard_of"])
    kind = rng.random()
    if kind < 0.15:
        target.pop(key, None)
    elif kind < 0.3 and target:
        target[key] = copy.deepcopy(target[rng.choice(list(target))])
    else:
        target[key] = copy.deepcopy(rng.choice(STRANGE))
