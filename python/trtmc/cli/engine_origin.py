"""What an engine belongs to: written beside its contract, compared when engines are packed.

Without it, an engine packed under another target, contract, component or checkpoint would make a bundle that verifies
and answers nonsense. Knows no bundle and no compiler.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trtmc.core.admission import AdmissionRecord, hash_file
from trtmc.core.config import read_json_object
from trtmc.core.contract import Contract
from trtmc.core.errors import BadInput
from trtmc.core.target import TargetInfo

_KEY = "origin"


@dataclass(frozen=True)
class EngineOrigin:
    """Family, component, target and checkpoint that an engine was built from, and the engine file's own hash."""

    family: str
    component: str
    target: TargetInfo
    checkpoint_sha256: str
    engine_sha256: str

    @classmethod
    def of(cls, family: str, component: str, target: TargetInfo, record: AdmissionRecord, engine: Path) -> EngineOrigin:
        """The origin of the engine in the file `engine`."""
        return cls(family, component, target, checkpoint_digest(record), hash_file(engine).sha256)


def checkpoint_digest(record: AdmissionRecord) -> str:
    """One hash for all files of a checkpoint."""
    listing = json.dumps([asdict(file) for file in record.files], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(listing.encode()).hexdigest()


def contract_file(contract: Contract, origin: EngineOrigin) -> dict[str, Any]:
    """The object of `<component>.json`."""
    return contract.to_json() | {_KEY: asdict(origin)}


def read_contract(path: Path) -> tuple[Contract, EngineOrigin]:
    """A contract file that an engine action wrote."""
    value = dict(read_json_object(path, "contract"))
    origin = value.pop(_KEY, None)
    known = set(EngineOrigin.__dataclass_fields__)
    if not isinstance(origin, dict) or set(origin) != known:
        raise BadInput(
            "contract.schema",
            f"{path}: '{_KEY}' must be an object with the keys {sorted(known)}; build the engine again",
        )
    target = TargetInfo.from_json(origin["target"], f"{path}, {_KEY}.target")
    return Contract.from_json(value, str(path)), EngineOrigin(**{**origin, "target": target})


def check_origin(found: EngineOrigin, expected: EngineOrigin, engine: Path, contract: Path) -> None:
    """Refuses an engine that is not what it is packed as; says the first difference and names the files."""
    differences: Mapping[str, tuple[str, str]] = {
        "family": (found.family, expected.family),
        "component": (found.component, expected.component),
        "target": (_words(found.target), _words(expected.target)),
    }
    for what, (built_for, packed_as) in differences.items():
        if built_for != packed_as:
            raise BadInput(
                "pack.mismatch", f"{contract}: was built for {what} {built_for}, but is packed as {packed_as}"
            )
    if found.checkpoint_sha256 != expected.checkpoint_sha256:
        raise BadInput(
            "pack.mismatch",
            f"{contract}: was built from another checkpoint than the one given; build the engine again from this one",
        )
    if found.engine_sha256 != expected.engine_sha256:
        raise BadInput(
            "pack.mismatch",
            f"{engine}: is not the engine that {contract} describes: its SHA-256 is {expected.engine_sha256[:16]}…, "
            f"expected {found.engine_sha256[:16]}…; give each engine with the contract that was written beside it",
        )


def _words(target: TargetInfo) -> str:
    facts = [f"{key} {value}" for key, value in target.to_json().items() if key != "name" and value is not None]
    return f"{target.name} ({', '.join(facts)})"
