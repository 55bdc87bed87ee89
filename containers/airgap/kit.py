"""`make airgap-kit`: writes a folder with everything that a rebuild without network needs, and a manifest of it.

    kit.py --out FOLDER [--older KIT...] [--expect RECORD...]

    FOLDER/rebuild.sh verify.py manifest.json      start here
    FOLDER/source.tar                              the tree, without ignored files
    FOLDER/files/content_addressable/sha256/…      every pinned file, laid out as Bazel's repository cache

Files come from Bazel's repository cache and from older kits, by hash; what neither has is fetched as a build would.
An older kit keeps packages that the
archive has dropped, so that old commits stay buildable.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bazel.private.tools.image.tarball import file, write_tar
from containers.airgap.pins import Kind, Pin, pins
from third_party.fetch import debs, pypi

STORE = Path("content_addressable") / "sha256"
HERE = Path(__file__).resolve().parent
TREE = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", HERE.parents[1]))


class KitError(Exception):
    """Something that the reader of the message can put right."""


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def repository_cache() -> Path:
    """Bazel's cache of downloads on this machine."""
    asked = ["bazel", "info", "repository_cache", "--ui_event_filters=-info,-warning"]
    done = subprocess.run(asked, cwd=TREE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise KitError(f"`bazel info repository_cache` failed:\n{done.stderr.strip()[-1000:]}")
    return Path(done.stdout.strip().splitlines()[-1])


def stored(root: Path, pin: Pin) -> Path:
    """Where a store keeps a file."""
    return root / STORE / pin.sha256 / "file"


def take(source: Path, target: Path) -> None:
    """Copies a file under a temporary name first."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(".part")
    try:
        shutil.copyfile(source, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def fetch(missing: list[Pin], python: str, into: Path) -> None:
    """Fetches what no store has, through pip and apt."""
    packages = [pin for pin in missing if pin.kind is Kind.DEB]
    with tempfile.TemporaryDirectory(dir=into) as scratch:
        folder = Path(scratch)
        if packages:
            debs.fetch(debs.parse_lock("\n".join(pin.origin for pin in packages)), folder, newer_ok=False)
        for pin in missing:
            if pin.kind is Kind.HUB:
                raise KitError(
                    f"{pin.origin} is in no store. What to do: build it once on this machine, then make the kit"
                )
            if pin.kind is not Kind.DEB:
                pypi.fetch(pin.kind.value, pin.origin, python, folder, pin.file, pin.sha256)
            take(folder / pin.file, stored(into, pin))


def gather(wanted: list[Pin], stores: Iterable[Path], python: str, into: Path) -> None:
    """Puts every pinned file into the kit's store, each checked."""
    missing = []
    for pin in wanted:
        if stored(into, pin).is_file():
            continue
        found = next((store for store in stores if stored(store, pin).is_file()), None)
        if found is None:
            missing.append(pin)
            continue
        take(stored(found, pin), stored(into, pin))
    if missing:
        print(f"fetching {len(missing)} file(s) that are in no store ...", flush=True)
        fetch(missing, python, into)
    for pin in wanted:
        if sha256_of(stored(into, pin)) != pin.sha256:
            raise KitError(f"{pin.file} in {stored(into, pin)} is damaged. What to do: remove it and start again")


def source_files() -> list[str]:
    """Names of the tree's files, without ignored ones."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=TREE, capture_output=True, check=True).stdout.decode("utf-8", "surrogateescape")
    return sorted({name for name in listed.split("\0") if name and (TREE / name).is_file()})


def write_source(target: Path) -> None:
    """The tree as a tar."""
    entries = {
        os.fsencode(name): file(TREE / name, 0o755 if os.access(TREE / name, os.X_OK) else 0o644)
        for name in source_files()
    }
    with open(target, "wb") as handle:
        write_tar(entries, handle)


def expectations(paths: Iterable[Path]) -> dict[str, str]:
    """What a rebuild must give: image digests and bundle ids, from the records that a build left."""
    found = {}
    for path in paths:
        if path.suffix == ".bundle":
            found[f"{path.parent.name}/{path.name}"] = path.read_bytes()[24:56].hex()
        else:
            record = json.loads(path.read_text("utf-8"))
            found[record["name"]] = record["manifest"]
    return found


def manifest(folder: Path, wanted: list[Pin], expected: dict[str, str], python: str) -> dict[str, Any]:
    """The manifest: every file of the kit with size and hash, named as people know it."""
    names = {(STORE / pin.sha256 / "file").as_posix(): f"{pin.file} ({pin.origin.split('  ')[0]})" for pin in wanted}
    rows = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.json"):
        place = path.relative_to(folder).as_posix()
        known = names.get(place.removeprefix("files/"), place)
        rows.append({"path": place, "name": known, "size": path.stat().st_size, "sha256": sha256_of(path)})
    return {"version": 1, "python": python, "machine": "x86_64", "expected": expected, "files": rows}


def make(out: Path, older: list[Path], expect: list[Path], python: str) -> None:
    """Writes the kit beside its final name, then moves it there."""
    if out.exists():
        raise KitError(f"{out} exists. What to do: name another folder, or give it as --older and move it aside")
    building = out.with_name(out.name + ".part")
    building.mkdir(parents=True, exist_ok=True)
    wanted = pins(TREE, python)
    gather(wanted, [*(kit / "files" for kit in older), repository_cache()], python, building / "files")
    for kit in older:  # what older commits need
        for entry in sorted((kit / "files" / STORE).glob("*/file")):
            target = building / "files" / STORE / entry.parent.name / "file"
            if not target.is_file():
                take(entry, target)
    write_source(building / "source.tar")
    for name in ("rebuild.sh", "verify.py"):
        shutil.copy(HERE / name, building / name)
    text = json.dumps(manifest(building, wanted, expectations(expect), python), indent=1) + "\n"
    (building / "manifest.json").write_text(text, "utf-8")
    building.rename(out)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{out}: {len(wanted)} pinned files, {size / 1e6:.0f} MB; start with {out}/rebuild.sh")


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="kit.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder to write; it must not exist")
    parser.add_argument("--older", type=Path, action="append", default=[], help="an older kit, whose files are kept")
    parser.add_argument("--expect", type=Path, action="append", default=[], help="a bundle or NAME.digests.json")
    parser.add_argument("--python", default=".".join(map(str, sys.version_info[:2])))
    arguments = parser.parse_args(argv)
    base = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    older = [base / kit for kit in arguments.older]
    try:
        make(base / arguments.out, older, [base / path for path in arguments.expect], arguments.python)
    except (KitError, debs.FetchError, pypi.FetchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"error: cannot write the kit: {error.filename}: {error.strerror}", file=sys.stderr)
        return 7
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
