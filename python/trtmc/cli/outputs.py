"""Output files that appear all together or not at all.

with Outputs() as outputs:
    engine.write(outputs.stage(Path("llm.engine")))
    outputs.write_json(Path("llm.json"), contract.to_json())
# both are in place; after an error or Ctrl-C inside the block neither is, and older files are as they were
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trtmc.cli.console import compact_json
from trtmc.core.errors import UsageError


class Outputs:
    """Temporary files beside their destinations, renamed when the block ends well."""

    def __init__(self) -> None:
        self._staged: dict[Path, Path] = {}

    def stage(self, path: Path) -> Path:
        """Where to write what will become `path`."""
        check_folder(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.staged")
        self._staged[path] = temporary
        return temporary

    def write_json(self, path: Path, value: Any) -> None:
        """Canonical JSON, the same bytes for the same value."""
        self.stage(path).write_text(compact_json(value) + "\n", "utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                for path, temporary in self._staged.items():
                    os.replace(temporary, path)
        finally:
            for temporary in self._staged.values():
                temporary.unlink(missing_ok=True)


def check_folder(path: Path) -> None:
    """Refuses an output whose folder does not exist, before any work is done."""
    if not path.parent.is_dir():
        raise UsageError("output.folder", f"{path}: the folder {path.parent} does not exist; create it first")
    if path.is_dir():
        raise UsageError("output.is_folder", f"{path}: is a folder; name a file")
