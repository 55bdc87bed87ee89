"""Writes Bazel's class path for an install that lies beside the system: Debian's list names jars under
/usr/share/java, and some of those jars name
further ones in their manifests, by absolute path too. The result lists the whole closure under the install's own root.

    classpath.py UNPACKED_ROOT FINAL_ROOT
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

LISTING = "usr/share/bazel/bazel_classpath_debian_depends.txt"


def manifest_entries(jar: Path) -> list[str]:
    """The Class-Path entries of a jar's manifest."""
    with zipfile.ZipFile(jar) as archive:
        try:
            text = archive.read("META-INF/MANIFEST.MF").decode("utf-8", "replace")
        except KeyError:
            return []
    unfolded = text.replace("\r\n", "\n").replace("\n ", "")
    return [
        word
        for line in unfolded.split("\n")
        if line.startswith("Class-Path:")
        for word in line.split(":", 1)[1].split()
    ]


def closure(root: Path) -> list[str]:
    """All jars, as paths relative to the root, in the order that they are first named."""
    pending = [line.strip() for line in (root / LISTING).read_text("utf-8").splitlines() if line.strip()]
    seen: dict[str, None] = {}
    while pending:
        jar = Path(os.path.realpath(root / pending.pop(0).lstrip("/")))
        if not jar.is_file():
            continue
        relative = str(jar.relative_to(os.path.realpath(root)))
        if relative in seen:
            continue
        seen[relative] = None
        folder = os.path.dirname("/" + relative)
        pending += [
            os.path.normpath(os.path.join(folder, entry.removeprefix("file:"))) for entry in manifest_entries(jar)
        ]
    return list(seen)


def main(unpacked: str, final: str) -> int:
    """Rewrites the listing in place."""
    root = Path(unpacked)
    jars = closure(root)
    if not jars:
        print(f"classpath.py: {root / LISTING} names no jar that exists", file=sys.stderr)
        return 1
    (root / LISTING).write_text("".join(f"{final}/{jar}\n" for jar in jars), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
