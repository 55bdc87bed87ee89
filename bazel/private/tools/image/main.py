"""The program behind the image rules. The rules call it; what it reads and writes is named by JSON manifests.

main.py layer MANIFEST DESCRIPTOR [BLOB]
main.py image SPEC ARCHIVE RECORD
main.py sources LISTING OUT          names and SHA-256 of source files
main.py check ARCHIVE [REPORT]         --shell: the image may hold one
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from bazel.private.tools.image import check, layer, oci
from bazel.private.tools.image.errors import BAD_INPUT, ImageError, written


def sources(listing: Path, out: Path) -> None:
    """Writes {name: SHA-256} for the files that the listing names, one a line."""
    names = sorted(set(listing.read_text("utf-8").split("\n")) - {""})
    with written(out) as temporary:
        found = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in names}
        temporary.write_text(json.dumps(found, indent=0) + "\n", "utf-8")


def run(command: str, words: list[str]) -> None:
    """Carries out one command."""
    paths = [Path(word) for word in words if word != "--shell"]
    if command == "layer":
        layer.make(paths[0], paths[1], paths[2] if len(paths) > 2 else None)
    elif command == "image":
        oci.make(*paths)
    elif command == "sources":
        sources(*paths)
    elif command == "check":
        report = json.dumps(check.check(paths[0], "--shell" in words), indent=2) + "\n"
        if len(paths) > 1:
            paths[1].write_text(report, "utf-8")
        else:
            print(report, end="")
    else:
        raise ImageError("image.usage", f"unknown command {command!r}; known are layer, image, sources, check", 2)


def main(argv: list[str]) -> int:
    """The command line."""
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        run(argv[0], argv[1:])
    except ImageError as error:
        print(f"error [{error.code}]: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error [image.unreadable]: {error.filename}: {error.strerror}", file=sys.stderr)
        return BAD_INPUT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
