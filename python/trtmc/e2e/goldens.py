"""Golden files: what the oracle answered, small enough to be committed.

One JSON file per manifest. Logits are kept whole when the vocabulary is small; of a large one, every Nth value and the
best few, plus the length of the full vector, so that a wrong scale or a wrong winner cannot hide. This module reads and
writes the file; it knows no model and imports no oracle (``tests/oracle/make_goldens.py`` makes the content).
"""

from __future__ import annotations

import base64
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trtmc.core.errors import BadInput

VERSION = 1
#: A vocabulary up to this size is kept whole.
WHOLE_ROW = 512
#: Of a larger one, about so many evenly spaced values, and so many best ones.
SAMPLES, BEST = 1024, 16

UPDATE = "python tests/oracle/make_goldens.py (its README tells how)"


@dataclass(frozen=True)
class LogitRow:
    """The oracle's logits after ``row + 1`` ids of the sequence prompt + greedy."""

    row: int
    norm: float
    stride: int
    sample: str
    best_ids: tuple[int, ...]
    best_values: tuple[float, ...]

    def sampled(self) -> NDArray[np.float32]:
        """The kept values (all of them when ``stride`` is 1)."""
        return np.frombuffer(base64.b64decode(self.sample), dtype="<f4")

    def pick(self, logits: NDArray[np.floating]) -> NDArray[np.float64]:
        """From full logits: the values that ``expected`` lists, in the same order."""
        full = np.asarray(logits, dtype=np.float64)
        tail = [] if self.stride == 1 else [full[list(self.best_ids)], [np.linalg.norm(full) / self.norm_scale]]
        return np.concatenate([full[:: self.stride], *tail])

    def expected(self) -> NDArray[np.float64]:
        """The oracle's side of ``pick``."""
        tail = [] if self.stride == 1 else [self.best_values, [self.norm / self.norm_scale]]
        return np.concatenate([self.sampled().astype(np.float64), *tail])

    @property
    def norm_scale(self) -> float:
        """Brings the length of the full vector to the size of one logit, so that it does not drown the rest."""
        return math.sqrt(self.stride * len(self.sampled()))


def make_row(row: int, logits: NDArray[np.floating]) -> LogitRow:
    """Keeps of one row of full logits what a golden file stores."""
    full = np.asarray(logits, dtype=np.float32)
    stride = 1 if full.size <= WHOLE_ROW else full.size // SAMPLES
    best = np.argsort(-full, kind="stable")[: min(BEST, full.size)]
    return LogitRow(
        row=row,
        norm=float(np.linalg.norm(full.astype(np.float64))),
        stride=stride,
        sample=base64.b64encode(np.ascontiguousarray(full[::stride]).astype("<f4").tobytes()).decode(),
        best_ids=tuple(int(i) for i in best),
        best_values=tuple(float(full[i]) for i in best),
    )


@dataclass(frozen=True)
class GoldenTurn:
    """One prompt and the oracle's greedy answer. ``prompt_ids`` is the whole context, earlier turns included."""

    prompt_ids: tuple[int, ...]
    greedy_ids: tuple[int, ...]
    margins: tuple[float, ...]
    rows: tuple[LogitRow, ...]
    prompt_text: str = ""
    answer_text: str = ""


@dataclass(frozen=True)
class GoldenCase:
    """A case of the manifest: one turn, or the turns of a conversation."""

    name: str
    turns: tuple[GoldenTurn, ...]


@dataclass(frozen=True)
class Golden:
    """A whole golden file."""

    manifest: str
    made_with: dict[str, str]
    config_sha256: str
    weights_sha256: str
    cases: tuple[GoldenCase, ...]
    version: int = VERSION

    def case(self, name: str) -> GoldenCase:
        """The oracle's answer to one case."""
        for one in self.cases:
            if one.name == name:
                return one
        raise BadInput("e2e.golden_lacks_case", f"the golden file of '{self.manifest}' lacks '{name}'; run {UPDATE}")


def save_golden(path: Path, golden: Golden) -> None:
    """Writes the file: sorted keys, one case per line, so that a change shows as a small difference."""
    head = asdict(golden)
    cases = head.pop("cases")
    lines = ",\n".join(json.dumps(case, sort_keys=True, separators=(",", ":")) for case in cases)
    text = json.dumps(head, sort_keys=True, indent=1)[:-2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{text},\n "cases": [\n{lines}\n ]\n}}\n', encoding="utf-8")


def _turn(values: dict[str, object]) -> GoldenTurn:
    rows = tuple(
        LogitRow(**{**row, "best_ids": tuple(row["best_ids"]), "best_values": tuple(row["best_values"])})
        for row in values.pop("rows")  # type: ignore[attr-defined]
    )
    lists = {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    return GoldenTurn(**{**values, **lists, "rows": rows})  # type: ignore[arg-type]


def load_golden(path: Path) -> Golden:
    """Reads a golden file; a missing, broken or older one is an error that tells the command which remakes it."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        cases = tuple(GoldenCase(c["name"], tuple(_turn(t) for t in c["turns"])) for c in values.pop("cases"))
        golden = Golden(cases=cases, **values)
    except FileNotFoundError as error:
        raise BadInput("e2e.golden_missing", f"{path} does not exist; run {UPDATE}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput("e2e.golden_broken", f"{path}: {error}; run {UPDATE}") from error
    if golden.version != VERSION:
        raise BadInput("e2e.golden_version", f"{path} has version {golden.version}, not {VERSION}; run {UPDATE}")
    return golden
