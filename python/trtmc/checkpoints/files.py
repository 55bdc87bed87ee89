"""Folders that are filled completely or not at all, and JSON files with the same bytes for the same value.

Knows no model and no format.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trtmc.core.errors import BadInput, ResourceError, UsageError

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@contextlib.contextmanager
def filled_folder(out: Path) -> Iterator[Path]:
    """A scratch folder beside `out`; its files move to `out` when the block ends well, and vanish otherwise.

    `out` must be absent or empty, so that nothing of an earlier run is mixed in.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("output.not_empty", f"{out}: must be an empty folder, or not exist yet")
    if not out.parent.is_dir():
        raise UsageError("output.folder", f"{out}: the folder {out.parent} does not exist; create it first")
    scratch = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}.", suffix=".partial"))
    try:
        yield scratch
        out.mkdir(exist_ok=True)
        for path in sorted(scratch.iterdir()):
            path.replace(out / path.name)
    except OSError as error:
        named = error.filename or out
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ResourceError("checkpoint.write", f"cannot fill {out}: {named}: {reason}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def write_json(path: Path, value: JsonValue, compact: bool = False) -> None:
    """UTF-8 JSON with a final newline; the same value gives the same bytes. `compact` keeps the order of keys."""
    if compact:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    else:
        text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")


def check_file_name(name: str) -> None:
    """A checkpoint's files lie in one folder: no path, no hidden file."""
    if not name or name.startswith(".") or "/" in name or "\\" in name or any(ord(c) < 32 for c in name):
        raise BadInput("checkpoint.file_name", f"file name {name!r}: expected a plain name without folders")
