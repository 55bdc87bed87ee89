"""Takes Oniguruma's C sources out of the source archive of the Python package jq, which carries them.

    extract.py ARCHIVE OUTDIR FILE...

It knows only where they lie; which version they are, and that nothing is missing, is checked here.
"""

from __future__ import annotations

import io
import re
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

VERSION_INT = "60910"  # 6.9.10: the Unicode tables decide token ids, so no other version will do
INNER = re.compile(r"[^/]+/deps/jq-[\d.]+\.tar\.gz")
FOLDER = re.compile(r"[^/]+/(?:vendor|modules)/oniguruma/src/([^/]+)")


class ExtractError(Exception):
    """The archive is not laid out as expected."""


def sources(archive: Path) -> dict[str, bytes]:
    """File name → contents of Oniguruma's source folder."""
    with tarfile.open(archive) as outer:
        inner = [member for member in outer.getmembers() if INNER.fullmatch(member.name)]
        if len(inner) != 1:
            raise ExtractError(f"{archive}: expected one archive deps/jq-*.tar.gz, found {len(inner)}")
        handle = outer.extractfile(inner[0])
        if handle is None:
            raise ExtractError(f"{archive}: {inner[0].name} is no file")
        data = handle.read()
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar.getmembers():
            match = FOLDER.fullmatch(member.name)
            content = tar.extractfile(member) if match and member.isfile() else None
            if match and content is not None:
                found[match[1]] = content.read()
    return found


def extract(archive: Path, out: Path, names: Sequence[str]) -> None:
    """Writes the named files below `out`."""
    found = sources(archive)
    header = found.get("oniguruma.h", b"").decode("utf-8", "replace")
    version = re.search(r"define ONIGURUMA_VERSION_INT\s+(\d+)", header)
    if version is None or version[1] != VERSION_INT:
        raise ExtractError(f"{archive}: expected Oniguruma {VERSION_INT}, found {version[1] if version else 'none'}")
    missing = [name for name in names if name not in found]
    if missing:
        raise ExtractError(f"{archive}: Oniguruma's sources lack {', '.join(missing)}")
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        (out / name).write_bytes(found[name])


def main(argv: Sequence[str]) -> int:
    """The command line."""
    if len(argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        extract(Path(argv[0]), Path(argv[1]), argv[2:])
    except (ExtractError, OSError, tarfile.TarError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
