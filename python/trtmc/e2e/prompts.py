"""Prompts of seeded random ids, the same for the oracle that makes a golden file and the test that reads it."""

from __future__ import annotations

import numpy as np

from trtmc.e2e.manifest import CaseSpec


def random_prompt(case: CaseSpec, vocab_size: int) -> list[int]:
    """``case.random_ids`` ids of the whole vocabulary, a function of the case's seed and length alone."""
    stream = np.random.Generator(np.random.PCG64([case.seed, case.random_ids]))
    return [int(token) for token in stream.integers(0, vocab_size, case.random_ids)]
