"""Brings the files of a folder into the build graph: linked or copied, hashed, and recorded in checkpoint.json.

Symbolic links, as a hub's cache is full of them, are replaced by what they point to, so the result is the same as
that of a folder of plain files. A link that dangles, or leaves the folder and its cache, is refused by name and
target.

This module knows which files a build reads (trtmc.core.admission) and no model.

    ingest_folder(Path("snapshots/8c3f…"), Path("out"), "hub:org/model", "8c3f…")
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from trtmc.bundle.canonical import encode
from trtmc.checkpoints.files import check_file_name, filled_folder
from trtmc.core.admission import AdmissionRecord, checkpoint_files, hash_file
from trtmc.core.checkpoint import ADMISSION, Checkpoint
from trtmc.core.errors import UsageError

Progress = Callable[[str], None]


def ingest_folder(
    src: Path, out: Path, source: str, revision: str, progress: Progress = lambda _: None
) -> AdmissionRecord:
    """Fills `out`, which must be absent or empty, and returns what checkpoint.json says."""
    checkpoint = Checkpoint(src)
    return admit(checkpoint, checkpoint_files(checkpoint), out, source, revision, progress)


def admit(
    checkpoint: Checkpoint,
    names: Sequence[str],
    out: Path,
    source: str,
    revision: str,
    progress: Progress = lambda _: None,
) -> AdmissionRecord:
    """Takes these files of an opened checkpoint, and no others."""
    check_source(source)
    with filled_folder(out) as folder:
        files = []
        for name in sorted(names):
            check_file_name(name)
            progress(f"hashing {name}")
            _link_or_copy(checkpoint.path(name).resolve(), folder / name)
            files.append(hash_file(folder / name))
        record = AdmissionRecord(1, source, revision, tuple(files))
        (folder / ADMISSION).write_bytes(encode(record.to_json()) + b"\n")
    return record


def check_source(source: str) -> None:
    """A source goes into every bundle: it must not name a place on this machine."""
    if not source.strip() or source.startswith(("/", "~", ".", "file:")) or ":/" in source.replace("://", ""):
        raise UsageError(
            "checkpoint.source",
            f"source '{source}': expected a name such as 'hub:org/model', not a path of this machine",
        )


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or links forbidden
        shutil.copyfile(source, target)
