"""E2E manifests: the TOML files ``families/<f>/e2e/*.toml`` as typed, strict objects.

A manifest names a checkpoint and its exact revision, the task, targets, precisions with their thresholds, and the
cases. This module knows the file's shape. It knows nothing of models, oracles or runtimes. A key that it does not know
is an error: a misspelt threshold must not become "no threshold".
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from trtmc.core.errors import BadInput


class CheckpointKind(StrEnum):
    """Where the weights come from."""

    TINY = "tiny"  # random values of a seed, made from the config in the manifest
    NAMED = "named"  # a real checkpoint, given to the tests by label; its weights' hash is in the golden file


@dataclass(frozen=True)
class CheckpointSpec:
    """The checkpoint that the golden file was made with."""

    kind: CheckpointKind
    source: str
    revision: str
    seed: int = 0
    dtype: str = "float32"
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class PrecisionSpec:
    """One precision and the thresholds that hold for it.

    ``weights`` is what the builder is asked for (by default the name itself); ``compute`` is the faster arithmetic by
    name that the runtime is asked for when it loads the bundle, empty for the bundle's own.
    """

    name: str
    min_cosine: float
    equal_ids: bool
    min_top1_agreement: float
    min_margin: float
    weights: str = ""
    compute: str = ""

    @property
    def build_precision(self) -> str:
        """The value of the builder's ``--precision``."""
        return self.weights or self.name


@dataclass(frozen=True)
class CaseSpec:
    """One prompt. Exactly one of ``ids``, ``random_ids``, ``text`` and ``turns`` is set."""

    name: str
    new_tokens: int
    ids: tuple[int, ...] = ()
    random_ids: int = 0
    seed: int = 0
    text: str = ""
    turns: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """Everything that one conformance run is defined by."""

    path: Path
    name: str
    family: str
    task: str
    targets: tuple[str, ...]
    golden: Path
    max_sequence: int
    checkpoint: CheckpointSpec
    precisions: tuple[PrecisionSpec, ...]
    cases: tuple[CaseSpec, ...]

    def precision(self, name: str) -> PrecisionSpec:
        """The thresholds of one precision by its name."""
        for one in self.precisions:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.precisions)
        raise BadInput("e2e.unknown_precision", f"{self.path}: no precision '{name}'; it has {known}")


class _Table:
    """A TOML table that is read key by key and complains about what is left."""

    def __init__(self, path: Path, where: str, values: Mapping[str, object]) -> None:
        self._path = path
        self._where = where
        self._left = dict(values)

    def take(self, key: str, kind: type, default: object = None) -> object:
        """The value of a key, of exactly that type; an error if it is missing and has no default."""
        if key not in self._left:
            if default is None:
                raise self.error("e2e.missing_key", f"has no '{key}'")
            return default
        value = self._left.pop(key)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise self.error("e2e.wrong_type", f"'{key}' is {type(value).__name__}, expected {kind.__name__}")
        return value

    def text(self, key: str, default: str | None = None) -> str:
        """A string."""
        return str(self.take(key, str, default))

    def number(self, key: str, default: int | None = None) -> int:
        """An integer."""
        value = self.take(key, int, default)
        if not isinstance(value, int):
            raise self.error("e2e.wrong_type", f"'{key}' is no integer")
        return value

    def share(self, key: str) -> float:
        """A float between 0 and 1."""
        value = self.take(key, float)
        if not isinstance(value, float) or not 0.0 <= value <= 1.0:
            raise self.error("e2e.out_of_range", f"'{key}' is {value}, expected 0 to 1")
        return value

    def flag(self, key: str) -> bool:
        """A boolean."""
        return bool(self.take(key, bool))

    def items(self, key: str, kind: type, default: list[object] | None = None) -> tuple[object, ...]:
        """A list whose items all have one type."""
        values = self.take(key, list, default)
        if not isinstance(values, list) or any(type(value) is not kind for value in values):
            raise self.error("e2e.wrong_type", f"'{key}' is no list of {kind.__name__}")
        return tuple(values)

    def table(self, key: str) -> _Table:
        """A nested table."""
        values = self.take(key, dict)
        return _Table(self._path, f"{self._where}{key}.", values if isinstance(values, dict) else {})

    def tables(self, key: str) -> list[_Table]:
        """A non-empty array of tables."""
        values = self.items(key, dict)
        if not values:
            raise self.error("e2e.missing_key", f"'{key}' is empty")
        return [_Table(self._path, f"{self._where}{key}[{i}].", v) for i, v in enumerate(values) if isinstance(v, dict)]

    def done(self) -> None:
        """Nothing may be left over."""
        if self._left:
            raise self.error("e2e.unknown_key", f"has unknown keys: {', '.join(sorted(self._left))}")

    def error(self, code: str, what: str) -> BadInput:
        """An error that names the file and the table."""
        return BadInput(code, f"{self._path}: {self._where.rstrip('.') or 'the manifest'} {what}")


def _checkpoint(table: _Table) -> CheckpointSpec:
    kind_text = table.text("kind")
    if kind_text not in set(CheckpointKind):
        raise table.error("e2e.unknown_kind", f"has kind '{kind_text}', expected {' or '.join(CheckpointKind)}")
    kind = CheckpointKind(kind_text)
    if kind is CheckpointKind.TINY:
        config = table.take("config", dict)
        seed, dtype = table.number("seed"), table.text("dtype", "float32")
        spec = CheckpointSpec(kind, "seed", str(seed), seed, dtype, MappingProxyType(dict(config)))  # type: ignore[call-overload]
    else:
        spec = CheckpointSpec(kind, table.text("source"), table.text("revision"))
    table.done()
    return spec


def _precision(table: _Table) -> PrecisionSpec:
    spec = PrecisionSpec(
        name=table.text("name"),
        min_cosine=table.share("min_cosine"),
        equal_ids=table.flag("equal_ids"),
        min_top1_agreement=table.share("min_top1_agreement"),
        min_margin=table.share("min_margin"),
        weights=table.text("weights", ""),
        compute=table.text("compute", ""),
    )
    table.done()
    return spec


def _case(table: _Table) -> CaseSpec:
    spec = CaseSpec(
        name=table.text("name"),
        new_tokens=table.number("new_tokens", 64),
        ids=tuple(int(str(value)) for value in table.items("ids", int, [])),
        random_ids=table.number("random_ids", 0),
        seed=table.number("seed", 0),
        text=table.text("text", ""),
        turns=tuple(str(value) for value in table.items("turns", str, [])),
    )
    if sum(map(bool, (spec.ids, spec.random_ids, spec.text, spec.turns))) != 1:
        raise table.error("e2e.ambiguous_case", f"('{spec.name}') needs exactly one of ids, random_ids, text, turns")
    table.done()
    return spec


def load_manifest(path: Path) -> Manifest:
    """Reads one manifest; raises BadInput naming the file, the table and the key."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput("e2e.bad_toml", f"{path}: {error}") from error
    table = _Table(path, "", values)
    manifest = Manifest(
        path=path,
        name=table.text("name"),
        family=table.text("family"),
        task=table.text("task"),
        targets=tuple(str(target) for target in table.items("targets", str)),
        golden=path.parent / table.text("golden"),
        max_sequence=table.number("max_sequence"),
        checkpoint=_checkpoint(table.table("checkpoint")),
        precisions=tuple(_precision(one) for one in table.tables("precision")),
        cases=tuple(_case(one) for one in table.tables("case")),
    )
    table.done()
    names = [case.name for case in manifest.cases]
    if len(set(names)) != len(names):
        raise BadInput("e2e.duplicate_case", f"{path}: two cases have one name among {names}")
    return manifest
