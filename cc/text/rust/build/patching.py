"""Applies unified diffs strictly: every hunk must match at its exact place, or nothing is written.

It knows only what `diff -u` prints for changed and new text files; no fuzz, no deletions of files, no renames.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class PatchError(Exception):
    """A patch that is malformed or does not fit; the message names the file and the line."""


@dataclass
class Hunk:
    """One run of changes: lines with their leading ' ', '-' or '+'."""

    start: int
    lines: list[str] = field(default_factory=list)

    def before(self) -> list[str]:
        """The lines that must be there."""
        return [line[1:] for line in self.lines if line[0] in " -"]

    def after(self) -> list[str]:
        """The lines that take their place."""
        return [line[1:] for line in self.lines if line[0] in " +"]


@dataclass
class FileChange:
    """All hunks of one file, in order."""

    name: str
    hunks: list[Hunk] = field(default_factory=list)


def parse(text: str, origin: str) -> list[FileChange]:
    """The changes that a patch describes; text before the first `---` line is its explanation."""
    changes: list[FileChange] = []
    missing = 0
    for number, line in enumerate(text.splitlines(), 1):
        if missing:
            body = line if line else " "
            if body[0] not in " -+":
                raise PatchError(f"{origin}:{number}: expected a line of a hunk, found {line!r}")
            changes[-1].hunks[-1].lines.append(body)
            missing -= {" ": 2, "-": 1, "+": 1}[body[0]]
        elif line.startswith("+++ "):
            changes.append(FileChange(line[4:].split("\t")[0].split("/", 1)[1]))
        elif match := HUNK.match(line):
            if not changes:
                raise PatchError(f"{origin}:{number}: a hunk before any file name")
            old, new = (int(match[i]) if match[i] is not None else 1 for i in (2, 4))
            changes[-1].hunks.append(Hunk(int(match[1])))
            missing = old + new
    if missing:
        raise PatchError(f"{origin}: ends in the middle of a hunk of {changes[-1].name}")
    return changes


def apply(patch: Path, root: Path) -> None:
    """Applies a patch below `root`; raises PatchError, with nothing changed, when a hunk does not match."""
    results: dict[Path, str] = {}
    for change in parse(patch.read_text("utf-8"), patch.name):
        target = root / change.name
        lines = target.read_text("utf-8").split("\n") if target.exists() else [""]
        shift = 0
        for hunk in change.hunks:
            before, after = hunk.before(), hunk.after()
            at = max(hunk.start - 1, 0) + shift
            if lines[at : at + len(before)] != before:
                raise PatchError(
                    f"{patch.name} does not fit {change.name} at line {at + 1}; "
                    "the source has another version than the patch was made for"
                )
            lines[at : at + len(before)] = after
            shift += len(after) - len(before)
        results[target] = "\n".join(lines)
    for target, content in results.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content, "utf-8")
