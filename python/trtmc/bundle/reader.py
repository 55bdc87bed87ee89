"""Opens a bundle: maps it, checks everything before it is used, and hands out sections as memory.

Opening checks the preamble, the header with its hash and schema, that header and sections cover the file exactly, and
that all padding is zero. The hash of a section is checked before its first use (`lazy`), or all at once (`full`).

This module does not know what sections mean, and never executes or unpacks one.

    with read_bundle(Path("x.bundle")) as bundle:
        tokenizer = bytes(bundle.section(bundle.header.assets.tokenizer))
"""

from __future__ import annotations

import hashlib
import mmap
import os
import stat
import threading
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from trtmc.bundle.header import BundleHeader, Section
from trtmc.bundle.layout import PREAMBLE_SIZE, Extent, Preamble, check_extents
from trtmc.bundle.rules import Fault, Rule

Verify = Literal["lazy", "full"]


class Bundle:
    """An open, checked bundle. Safe to use from several threads; close it, or use it as a context manager."""

    def __init__(self, path: Path, file: mmap.mmap, preamble: Preamble, header: BundleHeader) -> None:
        self.path = path
        self.header = header
        self.id = preamble.header_sha256.hex()
        self.header_length = preamble.header_length
        self.file_length = preamble.file_length
        self._map = file
        self._sections = {section.name: section for section in header.sections}
        self._verified: set[str] = set()
        self._lock = threading.Lock()

    def section(self, name: str) -> memoryview:
        """The content of a section, read-only and valid until `close`; its hash is checked before the first use."""
        section = self._sections.get(name)
        if section is None:
            known = ", ".join(sorted(self._sections))
            raise Fault(Rule.NO_SUCH_SECTION, f"there is no section '{name}'; it has {known}").at(self.path)
        view = memoryview(self._map)[section.offset : section.offset + section.length]
        with self._lock:
            if name not in self._verified:
                self._verify(section, view)
                self._verified.add(name)
        return view

    def verify_all(self) -> None:
        """Checks the hash of every section that was not checked yet."""
        for section in self.header.sections:
            self.section(section.name).release()

    def close(self) -> None:
        """Drops the map; views that are still held keep it alive."""
        try:
            self._map.close()
        except BufferError:
            pass

    def _verify(self, section: Section, view: memoryview) -> None:
        found = hashlib.sha256(view).hexdigest()
        if found != section.sha256:
            raise Fault(
                Rule.SECTION_SHA256,
                f"section '{section.name}' is damaged: its SHA-256 is {found}, expected {section.sha256}; "
                "copy or build the bundle again",
            ).at(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def read_bundle(path: Path, verify: Verify = "lazy") -> Bundle:
    """Opens and checks `path`; raises a TrtmcError whose code is one of trtmc.bundle.rules."""
    try:
        bundle = _open(path)
    except Fault as fault:
        raise fault.at(path) from None
    if verify == "full":
        try:
            bundle.verify_all()
        except BaseException:
            bundle.close()
            raise
    return bundle


def _open(path: Path) -> Bundle:
    file, length = _map(path)
    start = bytes(file[:PREAMBLE_SIZE]) if file is not None else b""
    preamble = Preamble.decode(start, length)
    if file is None:
        raise AssertionError("an empty file passed the preamble's checks")
    try:
        stored = file[PREAMBLE_SIZE : preamble.header_end]
        found = hashlib.sha256(stored).digest()
        if found != preamble.header_sha256:
            raise Fault(
                Rule.HEADER_SHA256,
                f"the header is damaged: its SHA-256 is {found.hex()}, expected {preamble.header_sha256.hex()}; "
                "copy or build the bundle again",
            )
        header = BundleHeader.decode(stored)
        extents = [Extent(section.name, section.offset, section.length) for section in header.sections]
        for padding in check_extents(extents, preamble.header_end, preamble.file_length):
            _check_zero(file, padding)
        return Bundle(path, file, preamble, header)
    except BaseException:
        file.close()
        raise


def _map(path: Path) -> tuple[mmap.mmap | None, int]:
    """A read-only map of the file and its length; an empty file cannot be mapped."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise Fault(Rule.NOT_FOUND, f"cannot open the bundle: {os.strerror(error.errno or 0)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Fault(Rule.NOT_FOUND, "cannot open the bundle: it is no regular file")
        if status.st_size == 0:
            return None, 0
        return mmap.mmap(descriptor, status.st_size, prot=mmap.PROT_READ), status.st_size
    finally:
        os.close(descriptor)


def _check_zero(file: mmap.mmap, padding: Extent) -> None:
    data = file[padding.offset : padding.end]
    if data.strip(b"\0"):
        at = padding.offset + len(data) - len(data.lstrip(b"\0"))
        raise Fault(Rule.NONZERO_PADDING, f"byte {at}, in the padding {padding.name}, is {file[at]}, expected 0")
