"""Sizes in an ONNX file that TensorRT's parser would read wrongly: those beyond 31 bits become 0 there, without a word.

Walks the file's messages with a table of the few that hold shapes; everything else, weights too, is stepped over, so
no ONNX package is needed. Judges nothing else: what is no ONNX model is left to the parser.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

MOST = 2**31 - 1
_DEEPEST = 100  # as protobuf itself
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True)
class _Message:
    """What is looked at in a kind of message: fields with messages, the field with sizes, and the one with its name."""

    inside: dict[int, str] = field(default_factory=dict)
    sizes: int | None = None
    name: int | None = None


# Field numbers of onnx.proto, which never change their meaning.
_MESSAGES = {
    "model": _Message({7: "graph", 25: "function"}),
    "function": _Message({7: "node", 11: "attribute", 12: "value"}),
    "graph": _Message({1: "node", 5: "tensor", 11: "value", 12: "value", 13: "value", 15: "sparse"}),
    "node": _Message({5: "attribute"}, name=3),
    "attribute": _Message(
        {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 14: "type", 15: "type", 22: "sparse", 23: "sparse"}, name=1
    ),
    "tensor": _Message(sizes=1, name=8),
    "sparse": _Message({1: "tensor", 2: "tensor"}, sizes=3),
    "value": _Message({2: "type"}, name=1),
    "type": _Message({1: "tensor_type", 4: "nested_type", 5: "map_type", 8: "tensor_type", 9: "nested_type"}),
    "tensor_type": _Message({2: "shape"}),
    "nested_type": _Message({1: "type"}),
    "map_type": _Message({2: "type"}),
    "shape": _Message({1: "size"}),
    "size": _Message(sizes=1),
}


class _Malformed(Exception):
    """Not protobuf."""


def size_beyond(data: bytes) -> tuple[str, int] | None:
    """The first size beyond 31 bits, and the name of the tensor (or node) that has it; None if there is none."""
    try:
        return next(_beyond(memoryview(data), "model", "", 0), None)
    except _Malformed:
        return None


def _beyond(data: memoryview, kind: str, where: str, depth: int) -> Iterator[tuple[str, int]]:
    message = _MESSAGES[kind]
    fields = list(_fields(data))
    for number, value in fields:
        if number == message.name and isinstance(value, memoryview) and len(value):
            where = bytes(value).decode("utf-8", "replace")
    for number, value in fields:
        if number == message.sizes:
            yield from ((where, size) for size in _numbers(value) if size > MOST)
        elif number in message.inside and isinstance(value, memoryview) and depth < _DEEPEST:
            yield from _beyond(value, message.inside[number], where, depth + 1)


def _numbers(value: int | memoryview) -> Iterator[int]:
    """One number, or several that are packed."""
    at = 0
    if isinstance(value, int):
        yield _signed(value)
        return
    while at < len(value):
        number, at = _varint(value, at)
        yield _signed(number)


def _signed(number: int) -> int:
    return number - 2**64 if number >= 2**63 else number


def _fields(data: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """A message's fields by number; bytes are views into the file."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, form = key >> 3, key & 7
        if form == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        length = {_FIXED64: 8, _FIXED32: 4}.get(form)
        if form == _BYTES:
            length, at = _varint(data, at)
        if length is None or length > len(data) - at:
            raise _Malformed
        if form == _BYTES:
            yield number, data[at : at + length]
        at += length


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _Malformed
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & (2**64 - 1), at
    raise _Malformed
