"""Prints, as JSON, where the running Python lies and a fingerprint of its content. Used by host_python.bzl alone."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from pathlib import Path


def digest(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def program() -> str:
    """The interpreter itself: not a shim, and not the link of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def standard_library() -> str:
    """One digest over every source and extension module of the standard library."""
    total = hashlib.sha256()
    roots = [
        Path(sysconfig.get_path(name, vars={"base": sys.base_prefix, "platbase": sys.base_exec_prefix}))
        for name in ("stdlib", "platstdlib")
    ]
    for root in dict.fromkeys(roots):
        for folder, names, files in os.walk(root):
            names[:] = sorted(
                name
                for name in names
                if name not in ("__pycache__", "site-packages", "dist-packages", "test", "idlelib")
            )
            for name in sorted(files):
                if name.endswith((".py", ".so")):
                    path = Path(folder) / name
                    total.update(f"{path.relative_to(root)}\0{digest(path)}\n".encode())
    return total.hexdigest()


def libraries() -> dict[str, str]:
    """The digest of libpython, where it is a library of its own."""
    name, folder = sysconfig.get_config_var("INSTSONAME") or "", sysconfig.get_config_var("LIBDIR") or ""
    path = Path(folder) / name
    return {name: digest(path)} if ".so" in name and path.is_file() else {}


def main() -> None:
    """Prints the description."""
    exe = program()
    print(
        json.dumps(
            {
                "program": exe,
                "version": ".".join(map(str, sys.version_info[:2])),
                "full_version": ".".join(map(str, sys.version_info[:3])),
                "include": sysconfig.get_path("include", vars={"installed_base": sys.base_prefix}),
                "fingerprint": {
                    "version": sys.version,
                    "program_sha256": digest(Path(exe)),
                    "library_sha256": libraries(),
                    "standard_library_sha256": standard_library(),
                },
            }
        )
    )


main()
