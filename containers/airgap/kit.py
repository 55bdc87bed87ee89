"""`make airgap-kit`: everything that a rebuild without network needs, with a manifest, in a folder or one tar.

    kit.py --out KIT|KIT.tar [--older KIT...] [--bin BAZEL_BIN --expect OUTPUT...]

    KIT/rebuild.sh verify.py compare.py        start with the first
    KIT/manifest.json manifest.json.sha256     every file's size and hash, and what a rebuild must give
    KIT/source.tar                             the tree, without ignored files
    KIT/files/content_addressable/sha256/…     every pinned file, laid out as Bazel's repository cache

Files come from Bazel's repository cache and from older kits, by hash; what neither has is fetched as a build would.
An older kit keeps packages that the archive has dropped, so that old commits stay buildable. The kit appears under its
name whole or not at all.
"""

from __future__ import annotations

import argparse
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
from containers.airgap.compare import Outcomes, outcomes
from containers.airgap.pins import Kind, Pin, pins
from containers.airgap.verify import SEAL, VERSION, sha256_of
from third_party.fetch import debs, pypi

STORE = Path("content_addressable") / "sha256"
#: What travels in a kit beside the files.
PROGRAMS = ("rebuild.sh", "verify.py", "compare.py")
HERE = Path(__file__).resolve().parent
TREE = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", HERE.parents[1]))


class KitError(Exception):
    """Something that the reader of the message can put right."""


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


def place(pin: Pin) -> str:
    """Where a kit keeps a file, as its manifest says it."""
    return stored(Path("files"), pin).as_posix()


def take(source: Path, target: Path, name: str, sha256: str) -> None:
    """Copies a file that is what it should be, under a temporary name first."""
    if (found := sha256_of(source)) != sha256:
        raise KitError(
            f"{name} in {source} is damaged: expected {sha256}, found {found}. What to do: remove it and start again"
        )
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
            take(folder / pin.file, stored(into, pin), pin.file, pin.sha256)


def gather(wanted: list[Pin], stores: Iterable[Path], python: str, into: Path) -> None:
    """Puts every pinned file into the kit's store, each checked."""
    into.mkdir(parents=True, exist_ok=True)
    missing = []
    for pin in wanted:
        found = next((store for store in stores if stored(store, pin).is_file()), None)
        if found is None:
            missing.append(pin)
            continue
        take(stored(found, pin), stored(into, pin), pin.file, pin.sha256)
    if missing:
        print(f"fetching {len(missing)} file(s) that are in no store ...", flush=True)
        fetch(missing, python, into)


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


def manifest(folder: Path, names: dict[str, str], expected: Outcomes, python: str) -> dict[str, Any]:
    """The manifest: every file of the kit with size and hash, named as people know it."""
    rows = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        at = path.relative_to(folder).as_posix()
        if at not in ("manifest.json", SEAL):
            size = path.stat().st_size
            rows.append({"path": at, "name": names.get(at, at), "size": size, "sha256": sha256_of(path)})
    return {"version": VERSION, "python": python, "machine": "x86_64", "expected": expected, "files": rows}


def seal(folder: Path, content: dict[str, Any]) -> str:
    """Writes the manifest and its hash beside it; returns the hash."""
    (folder / "manifest.json").write_text(json.dumps(content, indent=1) + "\n", "utf-8")
    sha256 = sha256_of(folder / "manifest.json")
    (folder / SEAL).write_text(f"{sha256}  manifest.json\n", "utf-8")
    return sha256


def keep(older: list[Path], into: Path) -> dict[str, str]:
    """Takes what older kits have beyond this one's pins: old commits need it. Returns the names that they know."""
    names: dict[str, str] = {}
    for kit in older:
        try:  # an earlier version of the manifest will do: what is taken is checked by hash
            rows = json.loads((kit / "manifest.json").read_text("utf-8"))["files"]
            names |= {str(row["path"]): str(row["name"]) for row in rows}
        except (ValueError, KeyError, TypeError) as error:
            raise KitError(f"{kit}/manifest.json cannot be read ({error}). What to do: copy that kit again") from error
        for entry in sorted((kit / "files" / STORE).glob("*/file")):
            sha256 = entry.parent.name
            target = into / STORE / sha256 / "file"
            if not target.is_file():
                take(entry, target, "a file", sha256)
    return names


def _fill(folder: Path, older: list[Path], expected: Outcomes, python: str) -> tuple[int, str]:
    """Writes a kit into an empty folder; returns the number of pinned files and the manifest's hash."""
    write_source(folder / "source.tar")  # first: a kit that grows in the tree is no part of the tree
    wanted = pins(TREE, python)
    gather(wanted, [*(kit / "files" for kit in older), repository_cache()], python, folder / "files")
    names = keep(older, folder / "files") | {place(pin): pin.title for pin in wanted}
    for name in PROGRAMS:
        shutil.copy(HERE / name, folder / name)
    return len(wanted), seal(folder, manifest(folder, names, expected, python))


def _pack(folder: Path, name: Path, target: Path) -> None:
    """The kit as one tar, in a folder of its name."""
    files = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    entries = {
        os.fsencode(name / at): file(path, 0o755 if path.suffix == ".sh" else 0o644) for at, path in files.items()
    }
    with open(target, "wb") as handle:
        write_tar(entries, handle)


def make(out: Path, older: list[Path], expected: Outcomes, python: str) -> None:
    """Writes the kit beside its final name, then moves it there."""
    if out.exists():
        raise KitError(f"{out} exists. What to do: name another folder, or give it as OLDER and move it aside")
    for kit in older:
        if not (kit / "manifest.json").is_file():
            raise KitError(f"{kit} is no kit: it has no manifest.json. What to do: name a kit's folder, unpacked")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as scratch:
        folder = Path(scratch) / "kit"
        folder.mkdir()
        count, sha256 = _fill(folder, older, expected, python)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        if out.suffix == ".tar":
            _pack(folder, Path(out.stem), Path(scratch) / out.name)
            (Path(scratch) / out.name).rename(out)
        else:
            folder.rename(out)
    print(f"{out}: {count} pinned files, {size / 1e6:.0f} MB")
    print(f"its manifest is {sha256}: note that elsewhere, and give it as KIT_SHA256")
    unpack = f"tar -xf {out.name} && " if out.suffix == ".tar" else ""
    print(f"on the other machine: {unpack}{out.stem if unpack else out.name}/rebuild.sh WORK")


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="kit.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="the folder, or NAME.tar; it must not exist")
    parser.add_argument("--older", type=Path, action="append", default=[], help="an older kit, whose files are kept")
    parser.add_argument("--bin", type=Path, default=Path(), help="the folder of the build's outputs: bazel-bin")
    parser.add_argument("--expect", action="append", default=[], help="a bundle or NAME.digests.json below it")
    parser.add_argument("--python", default=".".join(map(str, sys.version_info[:2])))
    arguments = parser.parse_args(argv)
    base = Path(os.environ.get("BUILD_WORKING_DIRECTORY", "."))
    older = [base / kit for kit in arguments.older]
    try:
        expected = outcomes(base / arguments.bin, arguments.expect)
        make(base / arguments.out, older, expected, arguments.python)
    except (KitError, debs.FetchError, pypi.FetchError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    except OSError as error:
        where = error.filename2 or error.filename or arguments.out
        print(f"error: cannot write the kit: {where}: {error.strerror}; nothing was left behind", file=sys.stderr)
        return 7
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
