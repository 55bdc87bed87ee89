"""Holds what a rebuild gave against what the kit's maker got: bundle ids, image digests, and the layers of each image,
so that a difference is named as closely as it can be.

    python3 -I compare.py MANIFEST BAZEL_BIN [--partial]

With --partial, something else was asked for: what was not built is no difference.
It travels inside the kit and needs Python's standard library alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

DIFFERENT = 1
_BUNDLE_MAGIC = b"TRTMCBDL"
#: Output -> what it states -> digest.
Outcomes = dict[str, dict[str, str]]


def outcome(path: Path) -> dict[str, str]:
    """What a bundle, or the record of an image's digests, states."""
    if path.suffix == ".bundle":
        with open(path, "rb") as handle:
            preamble = handle.read(56)
        if preamble[:8] != _BUNDLE_MAGIC or len(preamble) < 56:
            raise ValueError(f"{path} is no bundle")
        return {"bundle": preamble[24:].hex()}
    record = json.loads(path.read_text("utf-8"))
    layers = {f"layer {layer['name']}": layer["digest"] for layer in record["layers"]}
    return {"image": record["manifest"], **layers, **{part: record[part] for part in ("config", "sbom", "provenance")}}


def outcomes(folder: Path, names: Iterable[str]) -> Outcomes:
    """What these outputs of a build state."""
    return {name: outcome(folder / name) for name in names}


def main(argv: list[str]) -> int:
    """Prints one line for everything expected; 0 when all are the same."""
    expected: Outcomes = json.loads(Path(argv[0]).read_text("utf-8"))["expected"]
    status = 0
    for name, wanted in expected.items():
        path = Path(argv[1], name)
        if not path.is_file() and "--partial" in argv[2:]:
            print(f"not compared: {name} was not built")
            continue
        found = outcome(path) if path.is_file() else {}
        for part, digest in wanted.items():
            if found.get(part) == digest:
                print(f"same as the kit's maker: {name}: {part} {digest}")
                continue
            got = found.get(part, "nothing: it was not built")
            print(f"rebuild: {name}: {part} differs\n  expected {digest}\n  found    {got}", file=sys.stderr)
            status = DIFFERENT
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
