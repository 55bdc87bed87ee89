"""Output files that appear all together or not at all.

with Outputs() as outputs:
    engine.write(outputs.stage(Path("llm.engine")))
    outputs.write_json(Path("llm.json"), contract.to_json())
# both are in place; after an error or Ctrl-C inside the block neither is, and older files are as they were
"""

from __future__ import annotations

import os
from collections.abc import Iterable
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


def check_outputs(outputs: Iterable[Path | None], inputs: Iterable[Path] = ()) -> None:
    """Refuses, before any work is done, outputs that cannot be written or that would destroy something.

    An output's folder must exist; the output itself is new or a regular file, not the same as another output, and no
    file of `inputs` (files, or folders of files) is replaced.
    """
    seen: set[Path] = set()
    sources = [path for path in inputs if path.exists()]
    for path in filter(None, outputs):
        if not path.parent.is_dir():
            raise UsageError("output.folder", f"{path}: the folder {path.parent} does not exist; create it first")
        if path.is_dir():
            raise UsageError("output.is_folder", f"{path}: is a folder; name a file")
        if path.exists() and not path.is_file():
            raise UsageError("output.is_no_file", f"{path}: is a device, pipe or socket; name a regular file")
        place = path.parent.resolve() / path.name
        if place in seen:
            raise UsageError("output.same", f"{path}: is named for two outputs; give each a file of its own")
        seen.add(place)
        for source in sources if path.exists() else []:
            if path.samefile(source) or source.resolve() in path.resolve().parents:
                raise UsageError("output.is_input", f"{path}: is a file of the input {source}; write elsewhere")
        if path.is_symlink():  # the file would take the link's place: /dev/stdout may lead to a regular file
            raise UsageError("output.is_link", f"{path}: is a link to {os.readlink(path)}; name the file itself")
