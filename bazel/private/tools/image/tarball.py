"""Writes tar streams whose bytes depend on nothing but the entries: no clock, no user, no locale, no version of Python.

Headers are written here, 512 bytes at a time: ustar, with a PAX record for what ustar cannot say (long names, names
beyond ASCII, sizes of 8 GiB and
more). It knows nothing of containers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Protocol

from bazel.private.tools.image.errors import ImageError

BLOCK = 512
CHUNK = 1 << 20
#: What the kernel answers where it cannot copy between two files.
_NO_COPY = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.EBADF}


class Kind(Enum):
    """The type flag of an entry."""

    FILE = b"0"
    SYMLINK = b"2"
    DIRECTORY = b"5"
    PAX = b"x"


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> object: ...


class FileSink:
    """A file that bytes go to; another file's content is copied into it by the kernel."""

    def __init__(self, handle: BinaryIO) -> None:
        self._handle = handle

    def write(self, data: bytes, /) -> None:
        """Takes the next bytes."""
        self._handle.write(data)

    def copy(self, source: BinaryIO, size: int) -> int:
        """Takes the next `size` bytes of a file, or what there is of them; returns how many came.

        Gives up without having taken any where the two file systems cannot do it.
        """
        self._handle.flush()
        done = 0
        while done < size:
            try:
                count = os.copy_file_range(source.fileno(), self._handle.fileno(), size - done)
            except OSError as error:
                if done or error.errno not in _NO_COPY:
                    raise
                break
            if count == 0:
                break
            done += count
        return done


@dataclass(frozen=True)
class Stream:
    """Content that is made while it is written; `size` is known before."""

    size: int
    write_to: Callable[[Sink], None]


@dataclass(frozen=True)
class Entry:
    """One member. `content`: a file's bytes, the file that holds them, or their maker; `link`: where a link points."""

    kind: Kind
    mode: int
    content: bytes | Path | Stream = b""
    link: bytes = b""
    uid: int = 0
    gid: int = 0

    @property
    def size(self) -> int:
        """Length of the content."""
        if isinstance(self.content, Path):
            return self.content.stat().st_size
        return self.content.size if isinstance(self.content, Stream) else len(self.content)


class _Counting:
    """Counts what passes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.size = 0

    def write(self, data: bytes, /) -> None:
        """Takes the next bytes."""
        self.size += len(data)
        self._sink.write(data)

    def copy(self, source: BinaryIO, size: int) -> int:
        """As FileSink's, where the next sink can."""
        done = self._sink.copy(source, size) if isinstance(self._sink, _Counting | FileSink) else 0
        self.size += done
        return done


def file(content: bytes | Path | Stream, mode: int = 0o644, uid: int = 0) -> Entry:
    """A regular file."""
    return Entry(Kind.FILE, mode, content, uid=uid, gid=uid)


def directory(mode: int = 0o755, uid: int = 0) -> Entry:
    """A folder."""
    return Entry(Kind.DIRECTORY, mode, uid=uid, gid=uid)


def symlink(target: bytes) -> Entry:
    """A symbolic link; the target is stored as it is and never followed."""
    return Entry(Kind.SYMLINK, 0o777, link=target)


def _number(value: int, width: int) -> bytes:
    return b"%0*o\0" % (width - 1, value)


def _header(name: bytes, kind: Kind, entry: Entry, size: int, link: bytes) -> bytes:
    fields = [
        name.ljust(100, b"\0"),
        _number(entry.mode, 8),
        _number(entry.uid, 8),
        _number(entry.gid, 8),
        _number(size, 12),
        _number(0, 12),  # time of last change: none
        b" " * 8,
        kind.value,
        link.ljust(100, b"\0"),
        b"ustar\x0000",
        bytes(32 + 32),  # names of user and group: none
        _number(0, 8) * 2,
        bytes(155 + 12),
    ]
    block = bytearray(b"".join(fields))
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def _plain(text: bytes) -> bool:
    """Whether a ustar header field can hold it."""
    return len(text) <= 100 and all(32 <= byte < 127 for byte in text)


def _ascii(text: bytes) -> bytes:
    """What stands in the header of an entry whose true name is in its PAX record."""
    return bytes(byte if 32 <= byte < 127 else ord("_") for byte in text)[:100]


def pax_record(key: str, value: bytes) -> bytes:
    """`LENGTH KEY=VALUE\\n`, where the length counts itself."""
    body = b" " + key.encode() + b"=" + value + b"\n"
    length = len(body) + 1
    while length != len(body) + len(str(length)):
        length = len(body) + len(str(length))
    return b"%d" % length + body


def _check_name(name: bytes) -> None:
    parts = name.split(b"/")
    if not name or b"\0" in name or any(part in (b"", b".", b"..") for part in parts):
        raise ImageError(
            "image.bad_path", f"{name!r} is no path inside an image; paths are relative, without '.' and '..'"
        )
    try:
        name.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImageError("image.bad_path", f"the name {name!r} is not UTF-8. What to do: rename the file") from error


def _write_entry(sink: Sink, name: bytes, entry: Entry) -> None:
    is_file = entry.kind is Kind.FILE
    shown = name + b"/" if entry.kind is Kind.DIRECTORY else name
    size = entry.size if is_file else 0
    records = b""
    if not _plain(entry.link):
        records += pax_record("linkpath", entry.link)
    if not _plain(shown):
        records += pax_record("path", shown)
    if size >= 1 << 33:
        records += pax_record("size", b"%d" % size)
    if records:
        sink.write(_header(b"PaxHeader/" + _ascii(name)[-80:], Kind.PAX, Entry(Kind.PAX, 0o644), len(records), b""))
        sink.write(records + bytes(-len(records) % BLOCK))
    sink.write(_header(_ascii(shown), entry.kind, entry, size if size < 1 << 33 else 0, _ascii(entry.link)))
    if is_file:
        _write_content(sink, entry, size)
        sink.write(bytes(-size % BLOCK))


def _write_content(sink: Sink, entry: Entry, size: int) -> None:
    if isinstance(entry.content, bytes):
        sink.write(entry.content)
        return
    counted = _Counting(sink)
    if isinstance(entry.content, Stream):
        entry.content.write_to(counted)
    else:
        with open(entry.content, "rb", buffering=0) as source:
            counted.copy(source, size)
            while chunk := source.read(min(CHUNK, size - counted.size)):
                counted.write(chunk)
    if counted.size != size:
        raise ImageError(
            "image.source_changed", f"{entry.content} changed while it was read: {size} bytes became {counted.size}"
        )


def with_parents(entries: Mapping[bytes, Entry]) -> dict[bytes, Entry]:
    """The entries and every folder above them, in byte order."""
    full = dict(entries)
    for name in entries:
        _check_name(name)
        parent = name.rpartition(b"/")[0]
        while parent and parent not in full:
            full[parent] = directory()
            parent = parent.rpartition(b"/")[0]
    return dict(sorted(full.items()))


def write_tar(entries: Mapping[bytes, Entry], sink: Sink) -> None:
    """Writes a whole archive: folders above entries are added, names are sorted."""
    for name, entry in with_parents(entries).items():
        _write_entry(sink, name, entry)
    sink.write(bytes(2 * BLOCK))
