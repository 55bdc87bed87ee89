"""The builder's version and a digest of the sources that decide what it builds."""

from __future__ import annotations

import hashlib
from importlib import util
from pathlib import Path

VERSION = "0.1.0"

_PARTS = ("trtmc.bundle", "trtmc.compilers", "trtmc.core", "trtmc.nn", "trtmc.ops")


def source_digest(family: str) -> str:
    """SHA-256 over the Python sources of the builder and of one family: names and contents, tests left out."""
    digest = hashlib.sha256()
    for package in (*_PARTS, f"families.{family}"):
        for path, name in _sources(package):
            content = path.read_bytes()
            digest.update(f"{package}/{name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _sources(package: str) -> list[tuple[Path, str]]:
    spec = util.find_spec(package)
    roots = [Path(root) for root in (spec.submodule_search_locations or [])] if spec else []
    files = {path.relative_to(root).as_posix(): path for root in roots for path in root.rglob("*.py")}
    return [(files[name], name) for name in sorted(files) if not name.endswith("_test.py")]
