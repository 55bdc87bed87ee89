"""TargetInfo: everything a compiled engine depends on besides its network.

Bazel writes it as `target.json` from the one table in `bazel/targets`; every engine action reads it and every bundle
carries it. This module knows the record and its JSON form, not which targets exist or how they compile.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from trtmc.core.errors import BadInput, MissingComponent, UsageError


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
        """Reads `target.json`."""
        try:
            return cls.from_json(json.loads(path.read_text("utf-8")), str(path))
        except FileNotFoundError:
            raise BadInput(
                "target.missing", f"{path}: no such file; pass the target.json of the target to build for"
            ) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise BadInput("target.schema", f"{path}: not JSON ({error})") from None


def named_target(name: str) -> TargetInfo:
    """A target by name, for runs outside of the build graph; only this kind of CPU is known without its target.json."""
    if name == "cpu_x86_64":
        return TargetInfo(name, "openvino", _installed_version("openvino"))
    raise UsageError(
        "target.unknown",
        f"target '{name}' is not known by name here; pass its target.json with --target-info, or use cpu_x86_64",
    )


def _installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingComponent(
            "target.compiler_missing", f"package '{package}' is not installed; install it or pass --target-info"
        ) from None
