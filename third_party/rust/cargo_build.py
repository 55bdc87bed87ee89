"""Runs cargo offline in one fixed folder and copies the static library out. Called by rust_staticlib through a program
of the crate's own, which
passes the function that lays out the cargo workspace. It knows neither the crate nor its edits.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Absolute paths enter the bytes that rustc writes, so this never changes. In a sandbox /tmp is the action's own.
ROOT = Path("/tmp/trtmc-rust")

Prepare = Callable[[Path, Path, Path, Path], None]


@contextmanager
def fixed_folder() -> Iterator[Path]:
    """The fixed folder, empty, for one process at a time."""
    with open(f"{ROOT}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(ROOT, ignore_errors=True)
        ROOT.mkdir(mode=0o700)
        try:
            yield ROOT
        finally:
            shutil.rmtree(ROOT, ignore_errors=True)


def linker(root: Path, cc: str) -> Path:
    """The host's C compiler as the linker of build scripts, away from the libraries that cargo itself loads."""
    path = root / "cc"
    path.write_text(f'#!/bin/sh\nunset LD_LIBRARY_PATH\nexec {cc} "$@"\n', "utf-8")
    path.chmod(0o755)
    return path


def environment(root: Path, cc: str) -> dict[str, str]:
    """A complete environment for cargo: nothing is inherited."""
    rust = root / "rust"
    libraries = ":".join(str(rust / place) for place in ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"))
    return {
        "CARGO_HOME": str(root / "home"),
        "CARGO_INCREMENTAL": "0",
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(root / "target"),
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": str(linker(root, cc)),
        "HOME": str(root / "home"),
        "LC_ALL": "C",
        "LD_LIBRARY_PATH": libraries,
        "PATH": f"{rust}/usr/bin:/usr/bin:/bin",
        "RUSTC": str(rust / "usr/bin/rustc"),
        "RUSTFLAGS": f"--sysroot={rust}/usr --cap-lints=allow --remap-path-prefix={root}=",
        "SOURCE_DATE_EPOCH": "0",
    }


def unpack(sdist: Path, folder: Path) -> None:
    """Unpacks a source archive, with the filter for data where this Python has one: Debian 12's 3.11.2 has not."""
    with tarfile.open(sdist) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)


def build(manifest: dict[str, str], prepare: Prepare) -> None:
    """Lays out the workspace, runs cargo, copies the library."""
    with fixed_folder() as root:
        (root / "rust").symlink_to(Path(manifest["rust"]).absolute())
        shutil.copytree(manifest["registry"], root / "registry", copy_function=shutil.copyfile)
        unpack(Path(manifest["sdist"]), root / "sdist")
        (source,) = (root / "sdist").iterdir()
        prepare(root / "work", Path(manifest["crate"]).absolute(), root / "registry", source)
        command = [
            str(root / "rust/usr/bin/cargo"),
            "build",
            "--release",
            "--offline",
            "--ignore-rust-version",
            "--quiet",
            "--jobs",
            "2",
        ]
        done = subprocess.run(
            command, cwd=root / "work" / manifest["package"], env=environment(root, manifest["cc"]), check=False
        )
        if done.returncode != 0:
            raise SystemExit(
                f"cargo_build: cargo failed for {manifest['package']} with status {done.returncode} (see above)"
            )
        shutil.copyfile(root / "target/release" / manifest["archive"], manifest["out"])


def main(prepare: Prepare) -> None:
    """Entry point for the crate's own program: `cargo_build.main(prepare)`."""
    os.umask(0o022)
    build(json.loads(Path(sys.argv[1]).read_text("utf-8")), prepare)
