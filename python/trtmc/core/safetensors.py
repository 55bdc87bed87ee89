"""Strict reader of one safetensors file over one memory map.

Judges like the `safetensors` package 0.8.0 and is stricter where the format's page is: the header starts with `{`, a
tensor has exactly the keys dtype, shape and data_offsets, and no key stands twice in any object. Everything is
checked before a tensor can be touched: header length, UTF-8, JSON, names, dtypes, shapes against byte ranges, gaps,
overlaps, and that the file ends where the last tensor ends. Knows nothing about models or shards.

    with SafetensorsFile(Path("model.safetensors")) as file:
        file.array("lm_head.weight")  # zero-copy view, storage dtype of file.entries[...].dtype
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, Unsupported

MAX_HEADER = 100_000_000  # the reference's own limit
_U64_MAX = (1 << 64) - 1

# Every dtype of the format with its width in bits; those without a DType can be listed but not read.
_FORMAT_DTYPES: Mapping[str, tuple[int, DType | None]] = {
    "BOOL": (8, DType.BOOL),
    "F4": (4, DType.F4_E2M1),
    "F6_E2M3": (6, None),
    "F6_E3M2": (6, None),
    "U8": (8, DType.U8),
    "I8": (8, DType.I8),
    "F8_E5M2": (8, DType.F8_E5M2),
    "F8_E4M3": (8, DType.F8_E4M3),
    "F8_E8M0": (8, DType.F8_E8M0),
    "F8_E4M3FNUZ": (8, None),
    "F8_E5M2FNUZ": (8, None),
    "I16": (16, DType.I16),
    "U16": (16, None),
    "F16": (16, DType.F16),
    "BF16": (16, DType.BF16),
    "I32": (32, DType.I32),
    "U32": (32, None),
    "F32": (32, DType.F32),
    "C64": (64, None),
    "F64": (64, DType.F64),
    "I64": (64, DType.I64),
    "U64": (64, None),
}


@dataclass(frozen=True)
class TensorEntry:
    """One tensor: type and shape as written, absolute byte range in the file."""

    name: str
    format_dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    @property
    def dtype(self) -> DType:
        """The element type, if this project can carry it."""
        dtype = _FORMAT_DTYPES[self.format_dtype][1]
        if dtype is None:
            raise Unsupported(
                "weights.dtype", f"tensor '{self.name}' has dtype {self.format_dtype}, which is not implemented"
            )
        return dtype

    @property
    def nbytes(self) -> int:
        """Size of the data in bytes."""
        return self.end - self.begin


class SafetensorsFile:
    """An open, fully validated file; views from `array` keep the map alive even after `close`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._map, size = _map_file(path)
        try:
            self.entries, self.metadata = _parse(self._map, size, path)
        except BaseException:
            self._map.close()
            raise

    def array(self, name: str) -> np.ndarray:
        """Zero-copy read-only view in the storage dtype; it may be unaligned, as the format allows."""
        entry = self.entries[name]
        if entry.dtype.bits < 8:
            return np.frombuffer(self._map, np.uint8, entry.nbytes, entry.begin)
        storage = entry.dtype.storage
        return np.frombuffer(self._map, storage, entry.nbytes // storage.itemsize, entry.begin).reshape(entry.shape)

    def release(self, name: str) -> None:
        """Tells the kernel that this tensor's pages are not needed for now; views stay valid and page in again."""
        entry = self.entries[name]
        page = mmap.PAGESIZE
        first, last = -(-entry.begin // page) * page, entry.end // page * page
        if last > first:
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)

    def release_all(self) -> None:
        """As `release`, for the whole file."""
        self._map.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        """Unmaps the file, unless views are still alive; then the last of them does."""
        with suppress(BufferError):
            self._map.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _map_file(path: Path) -> tuple[mmap.mmap, int]:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size < 8:
                raise _bad(
                    path,
                    "weights.truncated",
                    f"expected at least 8 bytes for the header length, found {size}; the download looks incomplete",
                )
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), size
    except OSError as error:
        raise _bad(path, "weights.unreadable", f"cannot be opened ({error.strerror})") from None


def _parse(data: mmap.mmap, size: int, path: Path) -> tuple[dict[str, TensorEntry], dict[str, str]]:
    length = int.from_bytes(data[:8], "little")
    if length > MAX_HEADER:
        raise _bad(
            path,
            "weights.header_too_large",
            f"header length at byte 0 is {length}, the limit is {MAX_HEADER}; this is not a safetensors file "
            "or it is damaged",
        )
    if length > size - 8:
        raise _bad(
            path,
            "weights.header_length",
            f"header length at byte 0 is {length}, but only {size - 8} bytes follow; the download looks incomplete",
        )
    header = _header_object(data[8 : 8 + length], path)
    metadata = _metadata(header.pop("__metadata__", None), path)
    base = 8 + length
    entries = [_entry(name, value, base, path) for name, value in header.items()]
    _check_cover(sorted(entries, key=lambda e: (e.begin, e.end)), base, size, path)
    return {entry.name: entry for entry in entries}, metadata


def _header_object(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _bad(path, "weights.header_utf8", f"header is not UTF-8 at byte {8 + error.start}") from None
    if not text.startswith("{"):
        found = f"byte {raw[0]:#04x}" if raw else "nothing"
        raise _bad(path, "weights.header_start", f"header must start with '{{' at byte 8, found {found}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise _bad(
                    path,
                    "weights.duplicate_key",
                    f"header names the key '{key}' twice; which one is meant is ambiguous, so neither is read",
                )
            result[key] = value
        return result

    def constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    def integer(word: str) -> int:
        if word == "-0":  # the reference reads it as a floating number, which no size is
            raise ValueError("-0 is not a size")
        return int(word)

    try:
        header = json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_int=integer)
        json.dumps(header, ensure_ascii=False).encode("utf-8")  # a lone surrogate is not text
    except json.JSONDecodeError as error:
        where = 8 + len(text[: error.pos].encode("utf-8"))
        found = _byte_at(raw, where - 8)
        raise _bad(
            path,
            "weights.header_json",
            f"header is not valid JSON at byte {where} ({error.msg}), found {found}; only white space may "
            "follow the object",
        ) from None
    except (ValueError, RecursionError) as error:
        raise _bad(path, "weights.header_json", f"header is not valid JSON ({error})") from None
    return header


def _byte_at(raw: bytes, position: int) -> str:
    """A byte of the header for an error message, or "the end"."""
    return f"byte {raw[position]:#04x}" if position < len(raw) else "the end"


def _metadata(value: Any, path: Path) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
        raise _bad(path, "weights.metadata", "'__metadata__' must map strings to strings")
    return value


def _entry(name: str, value: Any, base: int, path: Path) -> TensorEntry:
    where = f"tensor '{name}'"
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        found = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise _bad(
            path,
            "weights.entry_keys",
            f"{where}: expected exactly the keys dtype, shape and data_offsets, found {found}",
        )
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _FORMAT_DTYPES:
        raise _bad(path, "weights.entry_dtype", f"{where}: unknown dtype {dtype!r}")
    if not isinstance(shape, list) or not all(_is_u64(n) for n in shape):
        raise _bad(path, "weights.entry_shape", f"{where}: shape must be a list of sizes, found {shape!r}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(_is_u64(n) for n in offsets):
        raise _bad(path, "weights.entry_offsets", f"{where}: data_offsets must be two byte offsets, found {offsets!r}")
    begin, end = offsets
    if end < begin:
        raise _bad(path, "weights.entry_offsets", f"{where}: data_offsets end at {end}, before they begin at {begin}")
    expected = _expected_bytes(where, dtype, shape, path)
    if expected != end - begin:
        raise _bad(
            path,
            "weights.entry_size",
            f"{where}: shape {shape} of {dtype} needs {expected} bytes, but its range holds {end - begin}",
        )
    return TensorEntry(name, dtype, tuple(shape), base + begin, base + end)


def _expected_bytes(where: str, dtype: str, shape: list[int], path: Path) -> int:
    elements = 1
    for size in shape:
        elements *= size
        if elements > _U64_MAX:  # checked after each factor, as the reference does
            raise _bad(
                path, "weights.entry_overflow", f"{where}: shape {shape} has more elements than 64 bits can count"
            )
    bits = elements * _FORMAT_DTYPES[dtype][0]
    if bits > _U64_MAX:
        raise _bad(
            path, "weights.entry_overflow", f"{where}: shape {shape} of {dtype} has more bits than 64 bits can count"
        )
    if bits % 8:
        raise _bad(
            path,
            "weights.entry_size",
            f"{where}: shape {shape} of {dtype} is {bits} bits, which does not fill whole bytes",
        )
    return bits // 8


def _check_cover(entries: list[TensorEntry], base: int, size: int, path: Path) -> None:
    position = base
    for entry in entries:
        if entry.begin != position:
            kind = "a gap" if entry.begin > position else "an overlap"
            raise _bad(
                path,
                "weights.layout",
                f"{kind} before tensor '{entry.name}': its data begins at byte {entry.begin}, expected {position}",
            )
        position = entry.end
    if position != size:
        hint = "bytes follow the last tensor" if size > position else "the download looks incomplete"
        raise _bad(path, "weights.file_length", f"expected {position} bytes in all, found {size}; {hint}")


def _is_u64(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _U64_MAX


def _bad(path: Path, code: str, message: str) -> BadInput:
    return BadInput(code, f"{path}: {message}")
