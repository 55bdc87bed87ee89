"""Writes a bundle: lays sections out, streams them with their hashes, and makes the file appear whole or not at all.

The file is written under a temporary name in the destination folder, flushed to disk, and renamed. On any error, and
on Ctrl-C, the temporary file is removed and an older bundle of that name stays as it was. The same header and
sections give the same bytes.

This module does not know what sections mean.

    engine = SectionSource("engines/llm.engine", "application/octet-stream", Path("llm.engine"))
    write_bundle(Path("x.bundle"), header, [engine])
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trtmc.bundle.header import BundleHeader, Section
from trtmc.bundle.layout import MAX_HEADER_LENGTH, PREAMBLE_SIZE, Preamble, place
from trtmc.bundle.rules import Fault, Rule

_CHUNK = 4 << 20


class ByteStream(Protocol):
    """Content that is produced while it is written, such as an engine."""

    @property
    def length(self) -> int:
        """Bytes in all, known beforehand."""

    def chunks(self) -> Iterator[memoryview]:
        """The bytes in order, as flat views. A view's bytes must not change after it was given: it is hashed later."""


@dataclass(frozen=True)
class SectionSource:
    """A section to be written: its name, its media type, and its content: bytes, a file to read, or a stream."""

    name: str
    media_type: str
    data: bytes | Path | ByteStream

    def length(self) -> int:
        """Length in bytes, right now."""
        if isinstance(self.data, bytes):
            return len(self.data)
        return self.data.stat().st_size if isinstance(self.data, Path) else self.data.length


def write_bundle(path: Path, header: BundleHeader, sections: Sequence[SectionSource]) -> str:
    """Writes `path` and returns the bundle id. `header.sections` is ignored and made from `sections`, in that order."""
    try:
        lengths = [source.length() for source in sections]
        empty = next((source.name for source, length in zip(sections, lengths, strict=True) if length == 0), None)
        if empty is not None:
            raise Fault(Rule.BAD_VALUE, f"section '{empty}' would be empty; leave it out")
        offsets, file_length, header_length = _lay_out(header, sections, lengths)
        with _replacement(path) as file:
            _reserve(file, file_length)
            hashes = _write_sections(file, sections, offsets, lengths)
            stored = _with_sections(header, sections, offsets, lengths, hashes).encode()
            if len(stored) != header_length:
                raise AssertionError("the header's length depends on the hashes")
            digest = hashlib.sha256(stored)
            _write_at(file, 0, Preamble(header_length, digest.digest(), file_length).encode() + stored)
    except Fault as fault:
        raise fault.at(path) from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        advice = "; free some space or write elsewhere" if error.errno == errno.ENOSPC else ""
        named = f" ({error.filename})" if error.filename not in (None, str(path)) else ""
        raise Fault(Rule.WRITE_FAILED, f"cannot write the bundle{named}: {reason}{advice}").at(path) from error
    return digest.hexdigest()


def _with_sections(
    header: BundleHeader,
    sources: Sequence[SectionSource],
    offsets: Sequence[int],
    lengths: Sequence[int],
    hashes: Sequence[str],
) -> BundleHeader:
    rows = zip(sources, offsets, lengths, hashes, strict=True)
    records = tuple(Section(s.name, offset, length, sha256, s.media_type) for s, offset, length, sha256 in rows)
    return dataclasses.replace(header, sections=records)


def _lay_out(
    header: BundleHeader, sources: Sequence[SectionSource], lengths: Sequence[int]
) -> tuple[list[int], int, int]:
    """Offsets, file length and header length. Offsets are part of the header, so its length is a fixed point."""
    hashes = ["0" * 64] * len(sources)
    header_length = 0
    while True:
        offsets, file_length = place(PREAMBLE_SIZE + header_length, lengths)
        encoded = _with_sections(header, sources, offsets, lengths, hashes).encode()
        if len(encoded) == header_length:
            break
        header_length = max(header_length, len(encoded))
        if len(encoded) < header_length:
            raise AssertionError("the header shrank when its sections moved back")
    if header_length > MAX_HEADER_LENGTH:
        raise Fault(
            Rule.HEADER_TOO_LONG, f"the header would have {header_length} bytes, the limit is {MAX_HEADER_LENGTH}"
        )
    BundleHeader.decode(encoded)  # whatever a reader would refuse is refused here
    return offsets, file_length, header_length


@contextlib.contextmanager
def _replacement(path: Path) -> Iterator[int]:
    """A new file that takes the place of `path` if the block ends well, and vanishes otherwise."""
    temporary = path.parent / f".{path.name}.{secrets.token_hex(8)}.partial"
    file = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        try:
            yield file
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reserve(file: int, length: int) -> None:
    """Sets the length and claims the space, so that a full disk shows before the work and not after it."""
    os.ftruncate(file, length)
    try:
        os.posix_fallocate(file, 0, length)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise


def _write_sections(
    file: int, sources: Sequence[SectionSource], offsets: Sequence[int], lengths: Sequence[int]
) -> list[str]:
    """Streams every section to its place; a second thread hashes each chunk while it is being written."""
    hashes = []
    with ThreadPoolExecutor(max_workers=1) as hasher:
        for source, offset, length in zip(sources, offsets, lengths, strict=True):
            digest = hashlib.sha256()
            pending: Future[None] | None = None
            at = offset
            for chunk in _chunks(source, length):
                if pending is not None:
                    pending.result()
                pending = hasher.submit(digest.update, chunk)
                _write_at(file, at, chunk)
                at += len(chunk)
                if at > offset + length:
                    break
            if pending is not None:
                pending.result()
            if at != offset + length:
                what = source.data if isinstance(source.data, Path) else f"the content of section '{source.name}'"
                raise Fault(Rule.SOURCE_CHANGED, f"{what} had {length} bytes, now it gave {at - offset}; build again")
            hashes.append(digest.hexdigest())
    return hashes


def _chunks(source: SectionSource, length: int) -> Iterator[bytes | memoryview]:
    """The content in pieces, at most one byte more than `length`."""
    if isinstance(source.data, bytes):
        yield source.data
        return
    if not isinstance(source.data, Path):
        yield from source.data.chunks()
        return
    left = length + 1
    with source.data.open("rb", buffering=0) as stream:
        while left and (chunk := stream.read(min(_CHUNK, left))):
            left -= len(chunk)
            yield chunk


def _write_at(file: int, offset: int, data: bytes | memoryview) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written
