"""Bazel as image entries: its locked packages, unpacked into a folder of their own and assembled there by the same code
that installs Bazel on a machine (tools/bazel/assemble.py).

patchelf, one of the packages, is the only program that runs; it is started with the packages' own C library, so nothing
of the machine gets into the result.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from bazel.private.tools.image import debs
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.tarball import Entry, Kind, file, symlink
from tools.bazel.assemble import AssembleError, assemble, wrapper

PROGRAM = "usr/local/bin/bazel"


def _write(entries: dict[bytes, Entry], root: bytes) -> None:
    """The entries as real files."""
    for name, entry in sorted(entries.items()):
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if entry.kind is Kind.DIRECTORY:
            os.makedirs(path, exist_ok=True)
        elif entry.kind is Kind.SYMLINK:
            os.symlink(entry.link, path)
        else:
            with open(path, "wb") as handle:
                handle.write(bytes(entry.content))  # type: ignore[arg-type]  # a package's files are in memory
            os.chmod(path, entry.mode)


def _read(root: bytes, at: bytes) -> dict[bytes, Entry]:
    """Real files as entries below a path; folders come with what is in them."""
    entries: dict[bytes, Entry] = {}
    for folder, names, files in os.walk(root):
        for name in (*names, *files):
            path = os.path.join(folder, name)
            key = at + b"/" + os.path.relpath(path, root)
            if os.path.islink(path):
                entries[key] = symlink(os.readlink(path))
            elif name in files:
                with open(path, "rb") as handle:
                    entries[key] = file(handle.read(), 0o755 if os.stat(path).st_mode & 0o100 else 0o644)
    return entries


def install(wanted: dict[str, Any], architecture: str) -> tuple[dict[bytes, Entry], list[debs.Package]]:
    """`wanted`: {"files": [...], "lock_file": "...", "prefix": "opt/bazel", "options": ["common --x"]}."""
    lines = Path(wanted["lock_file"]).read_text("utf-8").splitlines()
    unpacked = debs.unpack([Path(name) for name in wanted["files"]], lines, architecture)
    final = "/" + wanted["prefix"]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        _write(unpacked.entries, os.fsencode(root))
        try:
            assemble(root, final)
        except AssembleError as error:
            raise ImageError(
                "image.bad_bazel", f"{error}. What to do: compare {wanted['lock_file']} with deps.toml"
            ) from error
        with open(root / "bazelrc", "a", encoding="utf-8") as handle:
            handle.writelines(f"{option}\n" for option in wanted["options"])
        entries = _read(os.fsencode(root), wanted["prefix"].encode())
    entries[PROGRAM.encode()] = file(wrapper(final).encode(), 0o755)
    return entries, unpacked.packages
