"""Evidence: one JSON per run that says what was tested, with what, and every figure with its bound.

Knows the shape of the file and nothing of how the figures came about. No clock, host name or path goes in, so that two
runs of the same sources give the same evidence.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trtmc.e2e.comparators import Metric

VERSION = 1


@dataclass(frozen=True)
class Evidence:
    """What one run proves (or fails to)."""

    manifest: str
    manifest_sha256: str
    checkpoint: Mapping[str, str]
    precision: str
    target: str
    runner: str
    bundle_id: str
    source_sha256: str
    inputs: Mapping[str, int]
    checks: Mapping[str, tuple[Metric, ...]]

    @property
    def passed(self) -> bool:
        """All metrics of all checks, and at least one metric in each: an empty check proves nothing."""
        return bool(self.checks) and all(
            metrics and all(metric.passed for metric in metrics) for metrics in self.checks.values()
        )

    def to_json(self) -> str:
        """Canonical text of the file."""
        values = {
            "version": VERSION,
            "manifest": self.manifest,
            "manifest_sha256": self.manifest_sha256,
            "checkpoint": dict(self.checkpoint),
            "precision": self.precision,
            "target": self.target,
            "runner": self.runner,
            "bundle_id": self.bundle_id,
            "source_sha256": self.source_sha256,
            "inputs": dict(self.inputs),
            "checks": {name: [_metric(metric) for metric in metrics] for name, metrics in self.checks.items()},
            "passed": self.passed,
        }
        return json.dumps(values, indent=1, sort_keys=True) + "\n"


def _metric(metric: Metric) -> dict[str, object]:
    return {
        "name": metric.name,
        "value": None if math.isnan(metric.value) else metric.value,
        "bound": metric.threshold,
        "direction": "at_least" if metric.at_least else "at_most",
        "passed": metric.passed,
        "note": metric.note,
    }


def source_digest(root: Path, patterns: Iterable[str]) -> str:
    """One hash over the named sources: paths relative to the root, and their bytes."""
    digest = hashlib.sha256()
    files = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def write_evidence(folder: Path, evidence: Evidence) -> Path:
    """Writes ``<manifest>.<precision>.<runner>.json`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{evidence.manifest}.{evidence.precision}.{evidence.runner}.json"
    path.write_text(evidence.to_json(), encoding="utf-8")
    return path
