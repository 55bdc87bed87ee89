"""Checks a kit against its manifest, before anything is built: every file there, of the stated size and content, and
nothing else. Names what is missing, altered, a link, or not known.

    python3 -I verify.py KIT [MANIFEST_SHA256]

The hash is the one that the kit's maker was told; with it a manifest that was rewritten is found too. This program
travels inside the kit, needs Python's standard library alone, and changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

BAD_INPUT = 3
VERSION = 2
#: What `sha256sum -c` reads; it stands beside the manifest.
SEAL = "manifest.json.sha256"
_SHA256 = re.compile(r"[0-9a-f]{64}")


class Refused(Exception):
    """The manifest cannot be used; the text says why."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused(f"{what} is no object")
    return value


def _inside(path: str) -> str:
    """A path that stays where it is read."""
    if path.startswith("/") or "\\" in path or {"", ".", ".."} & set(path.split("/")):
        raise Refused(f"'{path}' leaves the kit; paths lie below it")
    return path


def _row(value: Any) -> dict[str, Any]:
    """One file's row, with fields of the right kinds."""
    row = _object(value, "an entry of 'files'")
    for field, kind in (("path", str), ("name", str), ("size", int), ("sha256", str)):
        if not isinstance(row.get(field), kind):
            raise Refused(f"an entry of 'files' has no usable '{field}': {json.dumps(row)[:200]}")
    if not _SHA256.fullmatch(row["sha256"]):
        raise Refused(f"'{row['path']}' has the hash '{row['sha256'][:80]}', which is no SHA-256")
    return row | {"path": _inside(row["path"])}


def read_manifest(data: bytes) -> dict[str, Any]:
    """The manifest, or Refused with the reason."""
    try:
        manifest = _object(json.loads(data), "it")
    except (ValueError, RecursionError) as error:
        raise Refused(str(error)) from error
    if manifest.get("version") != VERSION:
        raise Refused(f"its version is {manifest.get('version')!r}; this program reads {VERSION}")
    for field in ("python", "machine"):
        if not isinstance(manifest.get(field), str):
            raise Refused(f"it has no usable '{field}'")
    for name, stated in _object(manifest.get("expected"), "'expected'").items():
        digests = _object(stated, f"'{_inside(name)}' in 'expected'")
        if not all(isinstance(digest, str) for digest in digests.values()):
            raise Refused(f"'{name}' in 'expected' holds something that is no digest")
    rows = manifest.get("files")
    if not isinstance(rows, list) or not rows:
        raise Refused("it lists no files")
    places = [_row(value)["path"] for value in rows]
    twice = sorted({place for place in places if places.count(place) > 1}) if len(set(places)) < len(places) else []
    if twice:
        raise Refused(f"'{twice[0]}' is listed twice")
    return manifest


def contents(kit: Path) -> Iterator[tuple[str, str]]:
    """Path and kind of everything in the kit: "file", or what it is instead. Links are not followed."""

    def fail(error: OSError) -> None:
        raise error

    for folder, names, files in os.walk(kit, onerror=fail):
        for name in sorted([*names, *files]):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            place = path.relative_to(kit).as_posix()
            if stat.S_ISREG(mode):
                yield place, "file"
            elif stat.S_ISLNK(mode):
                yield place, f"a link to {os.readlink(path)}"
            elif not stat.S_ISDIR(mode):
                yield place, "neither file nor folder"


def _compare(kit: Path, row: dict[str, Any], held: dict[str, str]) -> str | None:
    """What is wrong with one listed file, if anything."""
    named = f"{row['name']}  ({row['path']})" if row["name"] != row["path"] else row["path"]
    place = PurePosixPath(row["path"])
    for above in [place, *place.parents]:
        if held.get(above.as_posix(), "file") != "file":
            return f"no file  {named}: {above} is {held[above.as_posix()]}"
    if row["path"] not in held:
        return f"missing  {named}"
    path = kit / row["path"]
    size = path.stat().st_size
    if size != row["size"]:
        return f"altered  {named}: expected {row['size']} bytes, found {size}"
    digest = sha256_of(path)
    if digest != row["sha256"]:
        return f"altered  {named}: expected {row['sha256']}, found {digest}"
    return None


def _check_manifest(kit: Path, told: str | None) -> dict[str, Any]:
    """The manifest, held against its seal and against what the caller was told."""
    for name in ("manifest.json", SEAL):
        if (kit / name).is_symlink() or not (kit / name).is_file():
            raise Refused(f"{name} is missing or no file")
    data = (kit / "manifest.json").read_bytes()
    found = hashlib.sha256(data).hexdigest()
    sealed = (kit / SEAL).read_text("utf-8", "replace").split(" ")[0]
    for wanted, source in ((sealed, SEAL), (told or found, "what you were told")):
        if wanted != found:
            raise Refused(f"it was changed: expected {wanted[:80]} ({source}), found {found}")
    return read_manifest(data)


def problems(kit: Path, told: str | None = None) -> list[str]:
    """One line for everything that is not as it should be."""
    try:
        manifest = _check_manifest(kit, told)
        held = dict(contents(kit))
        compared = [_compare(kit, row, held) for row in manifest["files"]]
    except Refused as refused:
        return [f"altered  manifest.json: {refused}"]
    except OSError as error:
        return [f"unreadable  {error.filename}: {error.strerror}"]
    listed = {row["path"] for row in manifest["files"]} | {"manifest.json", SEAL}
    unknown = [
        f"unknown  {place}: " + ("not in the manifest" if kind == "file" else kind)
        for place, kind in sorted(held.items())
        if place not in listed
    ]
    return [line for line in compared if line] + unknown


def main(argv: list[str]) -> int:
    """Prints the problems; 0 when there are none."""
    kit = Path(argv[0] if argv else ".")
    found = problems(kit, argv[1] if len(argv) > 1 and argv[1] else None)
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("error: the kit is not whole. What to do: copy it again from where it was made", file=sys.stderr)
        return BAD_INPUT
    print(f"the kit is whole; its manifest is {sha256_of(kit / 'manifest.json')}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
