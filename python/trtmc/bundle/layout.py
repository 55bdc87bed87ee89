"""Where things are in a bundle file: the preamble, the header and the sections.

| offset | size | meaning |
| 0 | 8 | magic `TRTMCBDL` |
| 8 | 4 | version |
| 12 | 4 | flags |
| 16 | 8 | header_length |
| 24 | 32 | SHA-256 of the header |
| 56 | 8 | file_length |
| 64 | header_length | header |

These numbers are on disk: do not change them. This module knows no JSON and opens no file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from trtmc.bundle.rules import Fault, Rule

MAGIC = b"TRTMCBDL"
VERSION = 1
ALIGNMENT = 4096
MAX_HEADER_LENGTH = 16 << 20
_PREAMBLE = struct.Struct("<8sIIQ32sQ")
PREAMBLE_SIZE = _PREAMBLE.size


@dataclass(frozen=True)
class Preamble:
    """The fixed 64 bytes at the start, after their own checks."""

    header_length: int
    header_sha256: bytes
    file_length: int

    def encode(self) -> bytes:
        """The 64 bytes on disk."""
        return _PREAMBLE.pack(MAGIC, VERSION, 0, self.header_length, self.header_sha256, self.file_length)

    @property
    def header_end(self) -> int:
        """Offset of the first byte behind the header."""
        return PREAMBLE_SIZE + self.header_length

    @staticmethod
    def decode(start: bytes, actual_length: int) -> Preamble:
        """Checks the first (up to 64) bytes of a file of `actual_length` bytes."""
        known = min(len(start), len(MAGIC))
        if start[:known] != MAGIC[:known]:
            raise Fault(Rule.BAD_MAGIC, f"no bundle: it starts with {start[:8]!r}, expected {MAGIC!r}")
        if len(start) < PREAMBLE_SIZE:
            raise Fault(Rule.TRUNCATED, f"cut off: {actual_length} bytes, the preamble alone has {PREAMBLE_SIZE}")
        _, version, flags, header_length, header_sha256, file_length = _PREAMBLE.unpack(start[:PREAMBLE_SIZE])
        if version != VERSION:
            raise Fault(
                Rule.UNSUPPORTED_VERSION,
                f"bundle version {version}, this reader knows {VERSION}; build the bundle again or update trtmc",
            )
        if flags:
            raise Fault(Rule.UNKNOWN_FLAGS, f"unknown flags {flags:#x}; this reader knows none, update trtmc")
        if header_length > MAX_HEADER_LENGTH:
            raise Fault(
                Rule.HEADER_TOO_LONG, f"header_length is {header_length}, more than the limit {MAX_HEADER_LENGTH}"
            )
        if actual_length < file_length:
            raise Fault(Rule.TRUNCATED, f"cut off: {actual_length} bytes of {file_length}; copy it again")
        if actual_length > file_length:
            raise Fault(Rule.TRAILING_BYTES, f"{actual_length} bytes, but file_length is {file_length}")
        preamble = Preamble(header_length, header_sha256, file_length)
        if preamble.header_end > file_length:
            raise Fault(
                Rule.HEADER_OUT_OF_BOUNDS, f"the header ends at {preamble.header_end}, file_length is {file_length}"
            )
        return preamble


@dataclass(frozen=True)
class Extent:
    """A named run of bytes in the file."""

    name: str
    offset: int
    length: int

    @property
    def end(self) -> int:
        """Offset of the first byte behind it."""
        return self.offset + self.length


def align(offset: int) -> int:
    """The next multiple of ALIGNMENT at or after `offset`."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def place(header_end: int, lengths: Iterable[int]) -> tuple[list[int], int]:
    """Offsets of sections of these lengths behind a header that ends at `header_end`, and the file's length."""
    offsets, end = [], align(header_end)
    for length in lengths:
        offsets.append(end)
        end = align(end + length)
    return offsets, end


def check_extents(extents: Iterable[Extent], header_end: int, file_length: int) -> list[Extent]:
    """Header and sections must cover the file exactly, in order; returns the paddings between them."""
    paddings, previous, what = [], header_end, "the header"
    for extent in extents:
        where = f"section '{extent.name}'"
        if extent.offset % ALIGNMENT:
            raise Fault(
                Rule.SECTION_MISALIGNED, f"{where} starts at {extent.offset}, which is no multiple of {ALIGNMENT}"
            )
        if extent.offset < previous:
            raise Fault(Rule.SECTION_OVERLAP, f"{where} starts at {extent.offset}, but {what} ends at {previous}")
        if extent.offset != align(previous):
            raise Fault(
                Rule.SECTION_GAP, f"{where} starts at {extent.offset}, expected {align(previous)}, right after {what}"
            )
        if extent.end > file_length:
            raise Fault(Rule.SECTION_OUT_OF_BOUNDS, f"{where} ends at {extent.end}, file_length is {file_length}")
        paddings.append(Extent(f"after {what}", previous, extent.offset - previous))
        previous, what = extent.end, where
    if align(previous) != file_length:
        raise Fault(
            Rule.SECTION_GAP,
            f"{what} ends at {previous}, so the file should have {align(previous)} bytes; file_length is {file_length}",
        )
    paddings.append(Extent(f"after {what}", previous, file_length - previous))
    return paddings
