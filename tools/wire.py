"""The wire format of protocol buffers, as far as a few fields of the Remote Execution API need it. No schema: a
field is its number.

list(fields(b"\\x08\\x96\\x01\\x12\\x01x")) == [(1, 150), (2, b"x")]
"""

from __future__ import annotations

from collections.abc import Iterator

_FIXED = {1: 8, 5: 4}


def _number(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        value, shift, position = value | (byte & 0x7F) << shift, shift + 7, position + 1
        if byte < 0x80:
            return value, position


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Numbers and contents of a message's fields, in order. Raises ValueError if it is none.

    A varint comes as int, what has a length as bytes; fixed-width numbers are passed over.
    """
    position = 0
    try:
        while position < len(message):
            key, position = _number(message, position)
            if key & 7 == 2:
                size, position = _number(message, position)
                if position + size > len(message):
                    raise IndexError
                yield key >> 3, message[position : position + size]
                position += size
            elif key & 7 == 0:
                value, position = _number(message, position)
                yield key >> 3, value
            else:
                position += _FIXED[key & 7]
    except (IndexError, KeyError) as error:
        raise ValueError(f"no protobuf message: byte {position} of {len(message)}") from error


def part(message: bytes, number: int) -> bytes:
    """The message or text in a field, or nothing."""
    return next((content for key, content in fields(message) if key == number and isinstance(content, bytes)), b"")


def count(message: bytes, number: int) -> int:
    """The number in a field, or 0."""
    return next((content for key, content in fields(message) if key == number and isinstance(content, int)), 0)


def delimited(number: int, content: bytes) -> bytes:
    """One field with a length, as bytes of a message."""
    size, head = len(content), bytearray([number << 3 | 2])
    while size >= 0x80:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes(head) + bytes([size]) + content
