"""Content-addressed bytes: counting and hashing what passes, and gzip whose bytes depend on the content alone."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.tarball import Sink

#: Pinned: another level gives other bytes, and so other digests of the same layer.
GZIP_LEVEL = 6
#: SHA-256 of what zlib 1.2.13 and 1.3.1 make of `sample()` at that level.
ZLIB_SAMPLE = "d7b04ae51ec128b6be5378fc5b450d8945903f04c3de16275064b7cd7cffda31"


@dataclass(frozen=True)
class Blob:
    """What a descriptor says of some bytes."""

    digest: str
    size: int

    @property
    def hex(self) -> str:
        """The digest without its algorithm."""
        return self.digest.removeprefix("sha256:")


class Hashing:
    """Hashes and counts what passes to the next sink, if there is one."""

    def __init__(self, sink: Sink | None = None) -> None:
        self._sink = sink
        self._hash = hashlib.sha256()
        self._size = 0

    def write(self, data: bytes, /) -> None:
        """Takes the next bytes."""
        self._hash.update(data)
        self._size += len(data)
        if self._sink is not None:
            self._sink.write(data)

    def blob(self) -> Blob:
        """What has passed so far."""
        return Blob("sha256:" + self._hash.hexdigest(), self._size)


def sample() -> bytes:
    """Text with near and far repetitions, always the same."""
    state, words = 1, []
    for _ in range(40_000):
        state = state * 1_103_515_245 + 12_345 & 0x7FFFFFFF
        words.append(b"%d " % (state >> 16 & 0xFF if state & 0x10000 else state >> 8))
    return b"".join(words)


@cache
def check_zlib() -> None:
    """Refuses a zlib that compresses otherwise than the one that all digests come from: images depend on no machine."""
    packer = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    found = hashlib.sha256(packer.compress(sample()) + packer.flush()).hexdigest()
    if found != ZLIB_SAMPLE:
        raise ImageError(
            "image.zlib",
            f"Python's zlib ({zlib.ZLIB_RUNTIME_VERSION}) compresses otherwise than zlib 1.2.13 and 1.3.1 do: "
            "layers would get other digests. What to do: set HOST_PYTHON to a Python with usual zlib, like Debian's",
        )


class Gzip:
    """A gzip stream without name and time; `close` writes its end."""

    def __init__(self, sink: Sink) -> None:
        check_zlib()
        self._sink = sink
        self._deflate = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        self._crc = 0
        self._size = 0
        sink.write(b"\x1f\x8b\x08\0\0\0\0\0\0\xff")

    def write(self, data: bytes, /) -> None:
        """Takes the next bytes."""
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)
        if packed := self._deflate.compress(data):
            self._sink.write(packed)

    def close(self) -> None:
        """Ends the stream."""
        self._sink.write(self._deflate.flush())
        self._sink.write(self._crc.to_bytes(4, "little") + (self._size & 0xFFFFFFFF).to_bytes(4, "little"))


def canonical(value: Any) -> bytes:
    """JSON in its one form: sorted keys, no spaces, UTF-8."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def blob_of(data: bytes) -> Blob:
    """The descriptor of bytes at hand."""
    return Blob("sha256:" + hashlib.sha256(data).hexdigest(), len(data))
