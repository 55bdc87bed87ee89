"""Talks to //cc/text:text_tool, the C++ text library behind a pipe, and reads the golden files."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAM = Path(os.environ.get("TEXT_TOOL", "cc/text/text_tool"))


def golden(name: str) -> dict[str, Any]:
    """One golden file; `made_with` names the oracle's versions."""
    value: dict[str, Any] = json.loads((HERE / "goldens" / name).read_text("utf-8"))
    return value


class TextTool:
    """A running text_tool; use as a context manager."""

    def __init__(self) -> None:
        if not PROGRAM.exists():
            raise FileNotFoundError(f"{PROGRAM}: build //cc/text:text_tool, or name the program in TEXT_TOOL")
        self._process = subprocess.Popen([str(PROGRAM.absolute())], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> TextTool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def ask_all(self, requests: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The answers to many requests, in order; they are written while the answers are read."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise RuntimeError("text_tool has no pipes")
        lines = [json.dumps(request).encode() + b"\n" for request in requests]

        def write() -> None:
            for start in range(0, len(lines), 256):
                stdin.write(b"".join(lines[start : start + 256]))
            stdin.flush()

        writer = threading.Thread(target=write)
        writer.start()
        for _ in lines:
            line = stdout.readline()
            if not line:
                raise RuntimeError(f"text_tool ended with status {self._process.wait()}")
            yield json.loads(line)
        writer.join()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer."""
        return next(iter(list(self.ask_all([request]))))

    def must(self, request: dict[str, Any]) -> dict[str, Any]:
        """One answer that is no error."""
        answer = self.ask(request)
        if "error" in answer:
            raise RuntimeError(f"{request['op']}: {answer['code']}: {answer['error']}")
        return answer
