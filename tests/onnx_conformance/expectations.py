"""What every case is expected to do, as a file: verdict -> {case: reason}, sorted, so that a change shows as a diff."""

from __future__ import annotations

import json
from pathlib import Path

from tests.onnx_conformance.judge import Judgement, Verdict

FILE = Path(__file__).absolute().parent / "expectations.json"
UPDATE = "bazel run //tests/onnx_conformance:update"
_GOOD = (Verdict.PASSED, Verdict.OTHERWISE)


def read(path: Path = FILE) -> dict[str, Judgement]:
    """Case -> expectation."""
    groups = json.loads(path.read_text("utf-8"))
    return {name: Judgement(Verdict(kind), why) for kind, cases in groups.items() for name, why in cases.items()}


def text(judgements: dict[str, Judgement]) -> str:
    """The file's content."""
    groups = {
        verdict.value: {name: j.why for name, j in sorted(judgements.items()) if j.verdict is verdict}
        for verdict in Verdict
    }
    return json.dumps(groups, indent=1, ensure_ascii=False) + "\n"


def changes(expected: dict[str, Judgement], found: dict[str, Judgement]) -> list[str]:
    """One line for each case that did something else than expected, regressions first."""
    lines = []
    for name, judgement in found.items():
        before = expected.get(name)
        if before is None:
            lines.append((1, f"{name}: new case, {judgement.verdict.value}"))
        elif before.verdict is not judgement.verdict:
            worse = is_worse(before, judgement)
            how = "REGRESSION" if worse else "improvement"
            why = f" ({judgement.why})" if judgement.why else ""
            lines.append(
                (0 if worse else 1, f"{name}: {how}: was {before.verdict.value}, is {judgement.verdict.value}{why}")
            )
    return [line for _, line in sorted(lines)]


def is_worse(before: Judgement, after: Judgement) -> bool:
    """True if a case lost something."""
    if before.verdict in _GOOD:
        return after.verdict not in _GOOD
    return list(Verdict).index(after.verdict) > list(Verdict).index(before.verdict)
