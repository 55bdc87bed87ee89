"""The CPU engine file: one header page, the model's text, the weights blob. Little-endian.

offset  size  field (do not change: cc/backends/openvino reads it)
0       8     magic "TRTMCOVE"
8       4     version, 1
12      4     flags, 0
16      8     offset of the text, 4096
24      8     length of the text
32      8     offset of the weights, a multiple of 4096
40      8     length of the weights
48            zeros up to 4096; the text; zeros; the weights to the end of the file
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from trtmc.compilers.openvino.ir.blob import WeightsBlob
from trtmc.core.errors import BadInput

MAGIC = b"TRTMCOVE"
VERSION = 1
PAGE = 4096
_HEADER = struct.Struct("<8sIIQQQQ")


@dataclass(frozen=True)
class EngineLayout:
    """Where the two parts are."""

    text_length: int
    weights_length: int

    @property
    def weights_offset(self) -> int:
        """The first page boundary behind the text."""
        return PAGE + -(-self.text_length // PAGE) * PAGE

    @property
    def length(self) -> int:
        """Size of the file."""
        return self.weights_offset + self.weights_length

    def header(self) -> bytes:
        """The first page."""
        fields = (MAGIC, VERSION, 0, PAGE, self.text_length, self.weights_offset, self.weights_length)
        return _HEADER.pack(*fields).ljust(PAGE, b"\0")


def engine_chunks(text: bytes, blob: WeightsBlob) -> Iterator[memoryview]:
    """The file's bytes in order."""
    layout = EngineLayout(len(text), blob.length)
    yield memoryview(layout.header())
    yield memoryview(text)
    yield memoryview(bytes(layout.weights_offset - PAGE - len(text)))
    yield from blob.chunks()


def read_engine(data: memoryview | bytes) -> tuple[memoryview, memoryview]:
    """The text and the weights of an engine file, without copying."""
    view = memoryview(data)
    if len(view) < PAGE or bytes(view[:8]) != MAGIC:
        raise BadInput(
            "engine.bad_magic", f"not a CPU engine: expected {MAGIC!r} and a page of header, found {bytes(view[:8])!r}"
        )
    _, version, flags, text_at, text_length, weights_at, weights_length = _HEADER.unpack_from(view)
    if (version, flags) != (VERSION, 0):
        raise BadInput(
            "engine.version",
            f"expected engine version {VERSION} without flags, found version {version}, flags {flags:#x}",
        )
    layout = EngineLayout(text_length, weights_length)
    if text_at != PAGE or weights_at != layout.weights_offset or len(view) != layout.length:
        raise BadInput(
            "engine.layout",
            f"header says text {text_at}+{text_length}, weights {weights_at}+{weights_length}; "
            f"that does not fit a file of {len(view)} bytes",
        )
    return view[text_at : text_at + text_length], view[weights_at:]
