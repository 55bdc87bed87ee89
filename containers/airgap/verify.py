"""Checks a kit against its manifest, before anything is built: every file there, of the stated size and content.
Names what is missing or altered.

    python3 verify.py KIT

It travels inside the kit and needs Python's standard library alone.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

BAD_INPUT = 3


def problems(kit: Path) -> list[str]:
    """One line for every file that is not as it should be."""
    try:
        manifest = json.loads((kit / "manifest.json").read_text("utf-8"))
        rows = {str(row["path"]): row for row in manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        return [f"unreadable manifest.json: {error}"]
    found = []
    for place, row in rows.items():
        path = kit / place
        if not path.is_file():
            found.append(f"missing  {row['name']}  ({place})")
            continue
        with open(path, "rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
        if digest != row["sha256"]:
            found.append(f"altered  {row['name']}  ({place}): expected {row['sha256']}, found {digest}")
    present = {path.relative_to(kit).as_posix() for path in kit.rglob("*") if path.is_file()}
    extra = sorted(present - set(rows) - {"manifest.json"})
    return found + [f"unknown  {place}: not in the manifest" for place in extra]


def main(kit: str) -> int:
    """Prints the problems; 0 when there are none."""
    found = problems(Path(kit))
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print("error: the kit is not whole. What to do: copy it again from where it was made", file=sys.stderr)
        return BAD_INPUT
    print("the kit is whole")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "."))
