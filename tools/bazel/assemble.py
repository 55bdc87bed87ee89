"""Makes an unpacked Bazel usable from a folder of its own: programs find the C library that lies beside them, Java its
configuration, and Bazel its class path, its rule sets and its options.

    python3 -m tools.bazel.assemble UNPACKED_ROOT FINAL_ROOT

UNPACKED_ROOT holds the packages of third_party/bazel.debs.lock, FINAL_ROOT says where the folder will lie. The result
is the same bytes everywhere. It knows nothing of packages, images or what is installed here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.bazel import classpath, registry

_LIB = "usr/lib/x86_64-linux-gnu"
_LOADERS = ("usr/lib64/ld-linux-x86-64.so.2", f"{_LIB}/ld-linux-x86-64.so.2")


class AssembleError(Exception):
    """The packages do not hold what Bazel needs."""


def wrapper(final: str) -> str:
    """The program `bazel` for a PATH."""
    return f'#!/bin/sh\nexec {final}/usr/bin/bazel --nosystem_rc --bazelrc={final}/bazelrc "$@"\n'


def _first(root: Path, names: tuple[str, ...]) -> str:
    for name in names:
        if (root / name).is_file():
            return name
    raise AssembleError(f"the packages hold no {Path(names[0]).name}; is libc6 among them?")


def _java(root: Path) -> str:
    found = sorted((root / "usr/lib/jvm").glob("java-[0-9][0-9]-openjdk-amd64"))
    if not found:
        raise AssembleError("the packages hold no Java runtime under usr/lib/jvm")
    return found[0].relative_to(root).as_posix()


def _patch_programs(root: Path, final: str, loader: str, java: str) -> None:
    patchelf = [str(root / loader), "--library-path", str(root / _LIB), str(root / "usr/bin/patchelf")]

    def patch(path: Path, rpath: str) -> None:
        words = [*patchelf, "--set-interpreter", f"{final}/{loader}", "--force-rpath", "--set-rpath", rpath, str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssembleError(f"patchelf cannot change {path}: {done.stderr.strip()}")

    for path in [root / "usr/bin/bazel", *sorted((root / "usr/libexec/x86_64-linux-gnu/bazel").iterdir())]:
        patch(path, f"{final}/{_LIB}")
    for path in sorted((root / java / "bin").iterdir()):
        if not path.is_symlink():
            patch(path, f"$ORIGIN:$ORIGIN/../lib:$ORIGIN/../lib/server:{final}/{_LIB}")
    patch(root / java / "lib/jspawnhelper", f"$ORIGIN:{final}/{_LIB}")


def _move_links(java: Path, final: str) -> None:
    """The Java runtime's configuration is a set of absolute links into /etc."""
    for path in java.rglob("*"):
        if path.is_symlink() and (target := os.readlink(path)).startswith("/etc/"):
            path.unlink()
            path.symlink_to(final + target)


def assemble(root: Path, final: str) -> None:
    """Works in place."""
    loader, java = _first(root, _LOADERS), _java(root)
    _patch_programs(root, final, loader, java)
    _move_links(root / java, final)
    if classpath.main(str(root), final) != 0:
        raise AssembleError(f"{classpath.LISTING} names no jar that exists")
    registry.main(str(root / "registry"), f"{final}/usr/share/bazel")
    # Bazel looks for JNI libraries in its install base: Zstandard, for compressed caches and execution logs.
    (root / "usr/share/bazel/libzstd-jni.so").symlink_to("../../lib/x86_64-linux-gnu/libzstd-jni.so.1")
    options = [
        f"startup --install_base={final}/usr/share/bazel",
        "startup --trust_install_base",
        f"startup --server_javabase={final}/{java}",
        f"common --registry=file://{final}/registry",
    ]
    (root / "bazelrc").write_text("\n".join(options) + "\n", "utf-8")


def main(unpacked: str, final: str) -> int:
    """The command line."""
    try:
        assemble(Path(unpacked), final)
    except AssembleError as error:
        print(f"assemble.py: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
