"""Rules about the tree that no other tool knows: file sizes, and words that do not belong into a repository.

Each check takes (name, text) pairs and returns complaints, each a sentence that says what to do. The exemption list of
long files may only shrink.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

MAX_LINES = 600
# Generated: the locks, and what tests compare with.
UNLIMITED = re.compile(r"(\.lock(\.bzl)?|\.json|\.jsonl|\.tsv|\.patch|\.csv|\.txt|\.toml)$")
# Assembled, so that this file does not hold what it looks for.
HOSTS = [
    "py" + "pi.org",
    "python" + "hosted.org",
    "debian" + ".org",
    "npm" + "js.org",
    "npm" + "js.com",
    "crates" + ".io",
    "hugging" + "face.co",
    "hf" + ".co",
]
_HOST = re.compile(r"(?<![\w-])(?:[\w-]+\.)*(?:" + "|".join(re.escape(host) for host in HOSTS) + r")\b")


@dataclass(frozen=True)
class Source:
    """One text file of the tree."""

    name: str
    text: str

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self.text.count("\n") + (not self.text.endswith("\n") and bool(self.text))


def read_exemptions(text: str) -> dict[str, int]:
    """Lines `file limit` of long_files.txt; `#` starts a comment."""
    rows = [line.split("#", 1)[0].split() for line in text.splitlines()]
    return {row[0]: int(row[1]) for row in rows if row}


def too_long(sources: Iterable[Source], exemptions: dict[str, int]) -> list[str]:
    """Files above the budget, and exemptions that are no longer needed."""
    complaints = []
    left = dict(exemptions)
    for source in sources:
        if UNLIMITED.search(source.name):
            continue
        limit = left.pop(source.name, MAX_LINES)
        if source.lines > limit:
            complaints.append(f"{source.name}: {source.lines} lines, at most {limit} are allowed; split it by idea")
        elif limit > MAX_LINES and source.lines < limit:
            advice = "remove the line" if source.lines <= MAX_LINES else f"lower the limit to {source.lines}"
            complaints.append(f"{source.name}: shrank to {source.lines} lines; {advice} in tools/lint/long_files.txt")
    return complaints + [f"{name}: exempt in tools/lint/long_files.txt, but gone; remove the line" for name in left]


def registry_hosts(sources: Iterable[Source]) -> list[str]:
    """Hosts of package registries: packages are named, never addressed, so that any mirror will do."""
    complaints = []
    for source in sources:
        for number, line in enumerate(source.text.splitlines(), 1):
            for found in _HOST.finditer(line):
                complaints.append(
                    f"{source.name}:{number}: names the host {found[0]}; name the package, and let the machine's own "
                    "configuration say where it comes from"
                )
    return complaints


def missing_docstrings(sources: Iterable[Source]) -> list[str]:
    """Python modules and .bzl files that do not say what they are."""
    complaints = []
    for source in sources:
        suffix = PurePosixPath(source.name).suffix
        if suffix not in (".py", ".bzl") or not source.text.strip():
            continue
        body = re.sub(r"\A(#[^\n]*\n|\s)*", "", source.text)
        if not re.match(r'[rR]?("""|\'\'\'|")', body):
            complaints.append(
                f"{source.name}: does not open with a docstring; say what it is and what it does not know"
            )
    return complaints
