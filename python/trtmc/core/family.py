"""What a family is to the builder: a typed record, found by its MODEL.toml, loaded only when needed.

Adding a family needs no line here. `find` scans `families/*/MODEL.toml` on the import path; `load` imports the one
package and takes its `FAMILY`.
"""

from __future__ import annotations

import importlib
import importlib.util
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtmc.core.checkpoint import Checkpoint
from trtmc.core.config import StrictConfig
from trtmc.core.contract import Limits, Profile
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, InternalError, Unsupported, UsageError
from trtmc.core.weights import WeightSource

if TYPE_CHECKING:
    from trtmc.core.text_assets import TextArtifacts
    from trtmc.ops import NetworkModule

MANIFEST = "MODEL.toml"


@dataclass(frozen=True)
class FamilyManifest:
    """MODEL.toml: data that other tools may read without importing the family."""

    name: str
    model_types: tuple[str, ...]
    task: str
    runtime_strategy: str
    components: tuple[str, ...]

    @classmethod
    def read(cls, path: Path) -> FamilyManifest:
        """Strict reader."""
        try:
            values = StrictConfig(tomllib.loads(path.read_text("utf-8")), str(path))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BadInput("family.manifest", f"{path}: cannot be read ({error})") from None
        manifest = cls(
            values.string("name"),
            tuple(values.items("model_types")),
            values.string("task"),
            values.string("runtime_strategy"),
            tuple(values.items("components")),
        )
        values.finish()
        if manifest.name != path.parent.name:
            raise BadInput(
                "family.manifest", f"{path}: 'name' is '{manifest.name}', but the folder is '{path.parent.name}'"
            )
        return manifest


@dataclass(frozen=True)
class Component:
    """One network of a family: how to define it, fill it and use it."""

    create: Callable[[Any, Limits, DType], NetworkModule]
    load: Callable[[Any, Any, WeightSource], None]
    profiles: Callable[[Limits], tuple[Profile, ...]]


@dataclass(frozen=True)
class Family:
    """The object that a family's package exports as FAMILY.

    `read_config` returns the family's own dataclass, which has at least `dtype` (DType or None) and `max_positions`.
    """

    manifest: FamilyManifest
    read_config: Callable[[StrictConfig], Any]
    components: Mapping[str, Component]
    artifacts: Callable[[Checkpoint, Any, Limits], TextArtifacts]

    def __post_init__(self) -> None:
        if tuple(self.components) != self.manifest.components:
            raise InternalError(
                "family.components",
                f"family '{self.manifest.name}' defines {list(self.components)}, its {MANIFEST} lists "
                f"{list(self.manifest.components)}",
            )

    def config(self, checkpoint: Checkpoint) -> Any:
        """The checkpoint's configuration, fully accounted for."""
        reader = checkpoint.config()
        config = self.read_config(reader)
        reader.finish()
        return config

    def component(self, name: str) -> Component:
        """A component by name."""
        if name not in self.components:
            raise UsageError(
                "family.component",
                f"family '{self.manifest.name}' has no component '{name}'; it has {', '.join(self.components)}",
            )
        return self.components[name]


def manifests() -> dict[str, FamilyManifest]:
    """All families on the import path, by name."""
    spec = importlib.util.find_spec("families")
    roots = list(spec.submodule_search_locations or []) if spec else []
    paths = sorted(
        {path for root in roots for path in Path(root).glob(f"*/{MANIFEST}")}, key=lambda p: (p.parent.name, str(p))
    )
    found: dict[str, FamilyManifest] = {}
    for path in paths:
        manifest = FamilyManifest.read(path)
        found.setdefault(manifest.name, manifest)
    return found


def load(name: str) -> Family:
    """Imports a family by name."""
    known = manifests()
    if name not in known:
        raise UsageError("family.unknown", f"there is no family '{name}'; known are {', '.join(known) or 'none'}")
    family = getattr(importlib.import_module(f"families.{name}"), "FAMILY", None)
    if not isinstance(family, Family):
        raise InternalError("family.export", f"package families.{name} must export FAMILY, a trtmc.core.family.Family")
    return family


def for_checkpoint(checkpoint: Checkpoint) -> Family:
    """The family that owns the checkpoint's model_type."""
    model_type = checkpoint.model_type
    known = manifests()
    owners = [m.name for m in known.values() if model_type in m.model_types]
    if not owners:
        types = ", ".join(sorted(t for m in known.values() for t in m.model_types)) or "none"
        raise Unsupported(
            "config.model_type",
            f"{checkpoint.path('config.json')}: 'model_type' is '{model_type}', which no family implements; "
            f"implemented are {types}",
        )
    if len(owners) > 1:
        raise InternalError(
            "family.ambiguous",
            f"model_type '{model_type}' is claimed by {', '.join(owners)}; remove it from all but one {MANIFEST}",
        )
    return load(owners[0])
