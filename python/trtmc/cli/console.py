"""What commands print: progress on stderr, results on stdout (text, or one JSON object)."""

from __future__ import annotations

import json
import sys
from typing import Any


class Console:
    """Progress and results for people, unless quiet; results for programs with `as_json`."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json

    def progress(self, message: str) -> None:
        """One line about what is going on."""
        if not self.quiet:
            print(f"trtmc-build: {message}", file=sys.stderr, flush=True)

    def result(self, text: str, value: dict[str, Any]) -> None:
        """The command's answer."""
        if self.as_json:
            print(compact_json(value))
        elif not self.quiet:
            print(text)


def compact_json(value: dict[str, Any]) -> str:
    """One line, sorted keys, no spaces: the form in which the runtime prints too."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def size(count: int) -> str:
    """Bytes for people."""
    value = float(count)
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.2f} GB"
