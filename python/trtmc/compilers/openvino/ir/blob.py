"""The weights blob: where each constant's bytes go, without holding a copy of them.

A constant is one or several byte arrays laid end to end (several: rows of weights that an operation wants stacked).
The arrays alias the checkpoint's pages; they are read only when the engine file is written.

    blob = WeightsBlob()
    blob.place([np.zeros(8, np.uint8)])      # 0
    blob.place([np.ones(8, np.uint8)])       # 64
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

ALIGNMENT = 64
_BY_CONTENT = 4096  # smaller constants are shared by content, larger ones only by address: nothing large is hashed


class WeightsBlob:
    """Append-only; offsets never change once given. Equal pieces are stored once."""

    def __init__(self) -> None:
        self._pieces: list[tuple[int, np.ndarray]] = []
        self._known: dict[object, int] = {}
        self._length = 0

    @property
    def length(self) -> int:
        """Bytes from the start to the end of the last constant."""
        return self._length

    def place(self, arrays: Sequence[np.ndarray]) -> int:
        """Offset of the arrays, laid end to end. Each is a flat uint8 array and is kept alive."""
        key = tuple(self._key(a) for a in arrays)
        known = self._known.get(key if len(key) > 1 else key[0])
        if known is not None:
            return known
        start = -(-self._length // ALIGNMENT) * ALIGNMENT
        offset = start
        for array, piece in zip(arrays, key, strict=True):
            self._pieces.append((offset, array))
            if offset % ALIGNMENT == 0:
                self._known.setdefault(piece, offset)
            offset += array.nbytes
        self._known[key if len(key) > 1 else key[0]] = start
        self._length = offset
        return start

    @staticmethod
    def _key(array: np.ndarray) -> object:
        if array.nbytes < _BY_CONTENT:
            return array.tobytes()
        return (int(array.ctypes.data), array.nbytes)

    def chunks(self) -> Iterator[memoryview]:
        """The blob's bytes in order, gaps as zeros."""
        at = 0
        for offset, array in self._pieces:
            if offset > at:
                yield memoryview(bytes(offset - at))
            yield array.data.cast("B") if array.nbytes else memoryview(b"")
            at = offset + array.nbytes

    def read(self, offset: int, size: int) -> bytes:
        """A copy of a placed range; for tests and for reading constants back."""
        out = bytearray(size)
        for start, array in self._pieces:
            lo, hi = max(start, offset), min(start + array.nbytes, offset + size)
            if lo < hi:
                out[lo - offset : hi - offset] = array[lo - start : hi - start].tobytes()
        return bytes(out)
