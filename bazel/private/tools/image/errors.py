"""The errors that users of the image rules see. Codes are stable; the exit code is that of the kind (as in
trtmc.core.errors)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BAD_INPUT = 3
RESOURCE = 7


class ImageError(Exception):
    """One sentence or two: what failed, where, expected and found, what to do."""

    def __init__(self, code: str, message: str, exit_code: int = BAD_INPUT) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """A temporary name beside `path` that becomes `path` when the block ends well; otherwise nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        if error.filename not in (None, str(temporary)):
            raise ImageError("image.unreadable", f"cannot read {error.filename}: {error.strerror}") from error
        raise ImageError(
            "image.write_failed",
            f"cannot write {path}: {error.strerror}; nothing was left behind. What to do: free some space there",
            RESOURCE,
        ) from error
    finally:
        temporary.unlink(missing_ok=True)
