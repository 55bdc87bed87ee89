"""Writes a safetensors file one tensor at a time, so that no more than one chunk of one tensor is ever in memory.

The header is made from the declared shapes before any value exists; values then arrive in the declared order, each as
any number of C-contiguous chunks. The bytes depend on the declaration and the values only.

This module knows the safetensors layout and nothing about models or about where values come from.

Example:
    declared = [TensorDecl("w", "F16", (2, 3))]
    with SafetensorsWriter(path, declared, {"format": "pt"}) as writer:
        writer.write("w", [numpy.zeros((2, 3), numpy.float16)])
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from trtmc.core.errors import BadInput, ResourceError

#: Bytes per element of the dtypes that a writer here may be asked for.
ITEM_SIZES: dict[str, int] = {"F32": 4, "F16": 2, "BF16": 2}

#: The tensor data starts at a multiple of this, so that a mapping of the file is aligned for vector loads.
DATA_ALIGNMENT = 64


@dataclass(frozen=True)
class TensorDecl:
    """Name, dtype (as safetensors spells it) and shape of one tensor to come."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        """Length of the tensor's data in bytes."""
        return ITEM_SIZES[self.dtype] * math.prod(self.shape)


def encode_header(tensors: Sequence[TensorDecl], metadata: Mapping[str, str]) -> bytes:
    """The eight length bytes and the JSON header, padded with spaces to DATA_ALIGNMENT."""
    header: dict[str, object] = {"__metadata__": dict(sorted(metadata.items()))} if metadata else {}
    offset = 0
    for tensor in tensors:
        if tensor.name in header:
            raise BadInput("checkpoint.duplicate_tensor", f"tensor '{tensor.name}' is declared twice")
        end = offset + tensor.nbytes
        header[tensor.name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    padding = -(8 + len(text)) % DATA_ALIGNMENT
    return (len(text) + padding).to_bytes(8, "little") + text + b" " * padding


class SafetensorsWriter:
    """Context manager: fills `path` with the declared tensors, in order; removes the file if anything goes wrong."""

    def __init__(self, path: Path, tensors: Sequence[TensorDecl], metadata: Mapping[str, str]) -> None:
        self._path = path
        self._pending = list(reversed(tensors))
        header = encode_header(tensors, metadata)
        self._file = path.open("xb")
        self._write(header)

    def write(self, name: str, chunks: Iterable[np.ndarray]) -> None:
        """Appends the values of `name`, which must be the next declared tensor; its chunks must fill it exactly."""
        expected = self._pending[-1] if self._pending else None
        if expected is None or expected.name != name:
            wanted = expected.name if expected else "no further tensor"
            raise ValueError(f"tensor '{name}' arrived, expected {wanted}")
        written = 0
        for chunk in chunks:
            if not chunk.flags.c_contiguous or chunk.dtype.itemsize != ITEM_SIZES[expected.dtype]:
                raise ValueError(f"tensor '{name}': a chunk of {chunk.dtype} is no contiguous {expected.dtype}")
            self._write(chunk.reshape(-1).view(np.uint8).data)
            written += chunk.nbytes
        if written != expected.nbytes:
            raise ValueError(f"tensor '{name}': {written} bytes arrived, its declaration has {expected.nbytes}")
        self._pending.pop()

    def _write(self, data: bytes | memoryview) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise ResourceError("checkpoint.write", f"cannot write {self._path}: {reason}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._file.close()
            if kind is None and self._pending:
                raise ValueError(f"tensor '{self._pending[-1].name}' was declared and never written")
        except BaseException:
            self._path.unlink(missing_ok=True)
            raise
        if kind is not None:
            self._path.unlink(missing_ok=True)
