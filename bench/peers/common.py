"""What every Python peer of the benchmark shares: prompts in, one RESULT line out.

The driver (``run.py``) sets BENCH_PROMPTS (a file with one prompt of ids per line), BENCH_NEW_TOKENS, BENCH_THREADS and
BENCH_START (the clock just before the process was started). This file knows nothing of any runtime; it imports only the
standard library, because each peer runs in an environment of its own.
"""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path

NEW_TOKENS = int(os.environ.get("BENCH_NEW_TOKENS", "128"))
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
START = float(os.environ.get("BENCH_START", repr(time.time())))


def prompts() -> list[list[int]]:
    """The prompts, each a list of token ids; the first one is the cold run."""
    lines = Path(os.environ["BENCH_PROMPTS"]).read_text().splitlines()
    return [[int(word) for word in line.split()] for line in lines if line.strip()]


class Recorder:
    """Collects, per prompt, when each token was known, and prints the one line that the driver reads."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.first_token_s: float | None = None
        self.prefill_s: list[float] = []
        self.step_s: list[float] = []
        self.ids: list[list[int]] = []

    def add(self, begin: float, moments: list[float], ids: list[int]) -> None:
        """One generation: ``moments[i]`` is the clock when ``ids[i]`` was known."""
        if len(moments) != NEW_TOKENS or len(ids) != NEW_TOKENS:
            raise SystemExit(f"{self.name}: {len(ids)} tokens came instead of {NEW_TOKENS}")
        if self.first_token_s is None:
            self.first_token_s = moments[0] - START
        self.prefill_s.append(moments[0] - begin)
        self.step_s.append((moments[-1] - moments[0]) / max(1, NEW_TOKENS - 1))
        self.ids.append([int(token) for token in ids])

    def finish(self) -> None:
        """Prints the RESULT line."""
        result = {
            "name": self.name,
            "prefill_s": self.prefill_s,
            "step_s": self.step_s,
            "first_token_s": self.first_token_s,
            "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "ids": self.ids,
        }
        print("RESULT " + json.dumps(result), flush=True)
