"""Fingerprints of a checkpoint folder: what it means, whatever the order, the shards or the spelling of its files.

A golden file records them, so that a test never compares answers of two different checkpoints. Knows config.json and
the safetensors layout, reads them plainly and trusts them (the builder's own reader is the strict one).
"""

from __future__ import annotations

import hashlib
import json
import mmap
from pathlib import Path


def config_sha256(folder: Path) -> str:
    """Hash of config.json as canonical JSON."""
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return hashlib.sha256(json.dumps(values, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def weights_sha256(folder: Path) -> str:
    """Hash over every tensor's name, dtype, shape and bytes, in the order of the names."""
    places: dict[str, tuple[Path, dict[str, object], int]] = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        places |= {name: (path, entry, 8 + length) for name, entry in header.items()}
    digest = hashlib.sha256()
    for name in sorted(places):
        path, entry, base = places[name]
        digest.update(f"{name} {entry['dtype']} {entry['shape']}\n".encode())
        begin, end = (base + int(str(offset)) for offset in entry["data_offsets"])  # type: ignore[attr-defined]
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            digest.update(memoryview(data)[begin:end])
    return digest.hexdigest()
