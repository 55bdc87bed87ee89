"""TargetInfo: everything a compiled engine depends on besides its network.

Bazel writes it as `target.json` from the one table in `bazel/targets`; every engine action reads it and every bundle
carries it. The table also says which element types a target's engines can hold. This module knows the records and their
JSON form, not how targets compile.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from trtmc.core.errors import BadInput, Unsupported, UsageError


@dataclass(frozen=True)
class TargetInfo:
    """Compatibility target of an engine; CPU targets have neither CUDA version nor compute capability."""

    name: str
    compiler: str
    compiler_version: str
    cuda_version: str | None = None
    compute_capability: str | None = None
    os: str = "linux"
    arch: str = "x86_64"

    def to_json(self) -> dict[str, str | None]:
        """The object of `target.json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Any, where: str = "target.json") -> TargetInfo:
        """Strict reader: every key must be there, no other may."""
        known = {field.name for field in fields(cls)}
        if not isinstance(value, dict) or set(value) != known:
            found = sorted(value) if isinstance(value, dict) else type(value).__name__
            raise BadInput("target.schema", f"{where}: expected an object with the keys {sorted(known)}, found {found}")
        for key, item in value.items():
            optional = key in ("cuda_version", "compute_capability")
            if not (isinstance(item, str) and item) and not (optional and item is None):
                raise BadInput(
                    "target.schema",
                    f"{where}: '{key}' must be a non-empty string{' or null' if optional else ''}, found {item!r}",
                )
        return cls(**value)

    @classmethod
    def read(cls, path: Path) -> TargetInfo:
        """Reads `target.json`; a target of the table must be as the table says, since bundles pass on what it says."""
        try:
            info = cls.from_json(json.loads(path.read_text("utf-8")), str(path))
            _check_known(info, path)
            return info
        except FileNotFoundError:
            raise BadInput(
                "target.missing", f"{path}: no such file; pass the target.json of the target to build for"
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise BadInput("target.schema", f"{path}: not JSON ({error})") from None


@dataclass(frozen=True)
class NamedTarget:
    """A row of the table: a target, the element types that its engines can hold, the memory of its largest GPU, and
    what its compiler takes of two knobs."""

    info: TargetInfo
    holds: tuple[str, ...]
    memory_gb: int | None
    build_routes: bool
    min_workspace_mib: int


def target_table() -> dict[str, NamedTarget]:
    """The targets of this version, by name; `targets.json` copies the build graph's table, as a test makes sure."""
    path = Path(__file__).with_name("targets.json")
    rows = {}
    for record in json.loads(path.read_text("utf-8")):
        more = {key: record.pop(key) for key in ("memory_gb", "build_routes", "min_workspace_mib")}
        holds = tuple(record.pop("holds"))
        rows[record["name"]] = NamedTarget(TargetInfo.from_json(record, str(path)), holds, **more)
    return rows


def row_of_compiler(compiler: str) -> NamedTarget | None:
    """Any row of a compiler, for what the table says of the compiler and not of one target."""
    return next((row for row in target_table().values() if row.info.compiler == compiler), None)


def named_targets() -> dict[str, TargetInfo]:
    """The targets of this version, by name."""
    return {name: row.info for name, row in target_table().items()}


def named_target(name: str) -> TargetInfo:
    """A target by name."""
    known = named_targets()
    if name not in known:
        raise UsageError("target.unknown", f"there is no target '{name}'; known are {', '.join(sorted(known))}")
    return known[name]


def _check_known(info: TargetInfo, path: Path) -> None:
    known = named_targets()
    expected = known.get(info.name)
    if expected is None:  # a target of its owner's; its compiler is still the one that is installed
        versions = {target.compiler: target.compiler_version for target in known.values()}
        expected = replace(info, compiler_version=versions.get(info.compiler, info.compiler_version))
    found, wanted = info.to_json(), expected.to_json()
    for key, value in wanted.items():
        if found[key] != value:
            raise BadInput(
                "target.differs",
                f"{path}: '{key}' of target {info.name} is {found[key]!r}, but this version builds for {value!r}; "
                "take the target.json of this version, or give another target another name",
            )


def holds(target: TargetInfo, kind: str) -> bool:
    """Whether engines for `target` can hold an element type, as precisions are called; a target that is not in the
    table is its owner's business."""
    row = target_table().get(target.name)
    return row is None or kind in row.holds


def check_holds(target: TargetInfo, kind: str) -> None:
    """Refuses an element type that the target lacks."""
    if holds(target, kind):
        return
    table = target_table()
    others = sorted(name for name, row in table.items() if kind in row.holds)
    raise Unsupported(
        "target.precision",
        f"target {target.name} cannot hold {kind}: it holds {', '.join(table[target.name].holds)}; choose another "
        f"precision (auto picks one), or build for one of {', '.join(others)}",
    )
