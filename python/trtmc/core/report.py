"""The build report: seconds and peak memory per phase, plus facts. Written next to an engine, never into a bundle."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Phase:
    """One step of a build. `peak_rss_bytes` is the process's high-water mark when the step ended."""

    name: str
    seconds: float
    peak_rss_bytes: int


@dataclass
class Report:
    """Phases in order, and facts such as the number of layers."""

    phases: list[Phase] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Times a step; a step that fails is not recorded."""
        start = time.perf_counter()
        yield
        self.phases.append(Phase(name, time.perf_counter() - start, peak_rss_bytes()))

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "phases": [
                {"name": p.name, "seconds": round(p.seconds, 4), "peak_rss_bytes": p.peak_rss_bytes}
                for p in self.phases
            ],
            "peak_rss_bytes": peak_rss_bytes(),
            **self.facts,
        }


def peak_rss_bytes() -> int:
    """High-water mark of this process's resident memory, of this program alone.

    The figure of getrusage survives exec, so it may be that of the process which started this one.
    """
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
