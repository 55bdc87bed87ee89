"""Which files of a folder make up a checkpoint, and the record of their hashes (`checkpoint.json`).

A folder that entered the build graph carries the record; for a plain folder it is computed, and says nothing about
where the folder is, so that links, copies and other places give the same bundle.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trtmc.core.checkpoint import ADMISSION, CONFIG, Checkpoint
from trtmc.core.config import StrictConfig
from trtmc.core.errors import BadInput
from trtmc.core.text_assets import GENERATION, TEMPLATE, TOKENIZER, TOKENIZER_CONFIG
from trtmc.core.weights import INDEX_NAME

_CHUNK = 4 << 20
_TEXT_FILES = (CONFIG, GENERATION, TOKENIZER, TOKENIZER_CONFIG, TEMPLATE, INDEX_NAME)


@dataclass(frozen=True)
class AdmittedFile:
    """One file by content."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class AdmissionRecord:
    """Where a checkpoint came from and what it consists of, sorted by name."""

    version: int
    source: str
    revision: str
    files: tuple[AdmittedFile, ...]

    def to_json(self) -> dict[str, Any]:
        """The object of checkpoint.json."""
        return asdict(self) | {"files": [asdict(file) for file in self.files]}


def checkpoint_files(checkpoint: Checkpoint) -> list[str]:
    """Names of the files that a build may read, sorted."""
    texts = [name for name in _TEXT_FILES if checkpoint.has(name)]
    return sorted({*texts, *(path.name for path in checkpoint.weights.files())})


def admission_record(checkpoint: Checkpoint, stop: Callable[[], bool] = lambda: False) -> AdmissionRecord:
    """The folder's own record, whose sizes must fit, or one computed from its files; gives up when `stop` says so."""
    path = checkpoint.path(ADMISSION)
    if path.is_file():
        record = _read(path)
        for file in record.files:
            _check_size(checkpoint.path(file.name), file)
        return record
    files = tuple(hash_file(checkpoint.path(name), stop) for name in checkpoint_files(checkpoint))
    listing = json.dumps([asdict(file) for file in files], sort_keys=True, separators=(",", ":"))
    return AdmissionRecord(1, "folder", hashlib.sha256(listing.encode()).hexdigest(), files)


@contextmanager
def background_record(checkpoint: Checkpoint) -> Iterator[Future[AdmissionRecord]]:
    """The record being computed on the side, since hashing is a good part of a build; leaving the block ends it."""
    done = threading.Event()
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            yield pool.submit(admission_record, checkpoint, done.is_set)
        finally:
            done.set()


def hash_file(path: Path, stop: Callable[[], bool] = lambda: False) -> AdmittedFile:
    """Size and SHA-256 of a file, streamed."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb", buffering=0) as stream:
        while (chunk := stream.read(_CHUNK)) and not stop():
            digest.update(chunk)
            size += len(chunk)
    return AdmittedFile(path.name, size, digest.hexdigest())


def _read(path: Path) -> AdmissionRecord:
    reader = StrictConfig(Checkpoint(path.parent).json(ADMISSION), str(path))
    version = reader.integer("version", minimum=1, maximum=1)
    source, revision = reader.string("source"), reader.string("revision")
    files = []
    for index, value in enumerate(reader.items("files")):
        if not isinstance(value, dict):
            raise reader.bad("files", f"entry {index} must be an object")
        entry = StrictConfig(value, str(path), f"files[{index}].")
        files.append(AdmittedFile(entry.string("name"), entry.integer("size", maximum=2**62), entry.string("sha256")))
        entry.finish()
    reader.finish()
    return AdmissionRecord(version, source, revision, tuple(files))


def _check_size(path: Path, file: AdmittedFile) -> None:
    found = path.stat().st_size if path.is_file() else None
    if found != file.size:
        what = "is missing" if found is None else f"has {found} bytes"
        raise BadInput(
            "checkpoint.changed",
            f"{path}: {what}, but {ADMISSION} records {file.size} bytes; bring the checkpoint in again",
        )
