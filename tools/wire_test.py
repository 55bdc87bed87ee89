"""The reader of protobuf fields: literal bytes, and messages that are none."""

from __future__ import annotations

import pytest

from tools.wire import count, delimited, fields, part


def test_numbers_and_contents_come_in_order() -> None:
    message = b"\x08\x96\x01" + b"\x12\x03abc" + b"\x19" + bytes(8) + b"\x25" + bytes(4) + b"\x08\x01"
    assert list(fields(message)) == [(1, 150), (2, b"abc"), (1, 1)]
    assert (part(message, 2), part(message, 3), count(message, 1), count(message, 2)) == (b"abc", b"", 150, 0)


@pytest.mark.parametrize("size", [0, 1, 127, 128, 20_000])
def test_what_is_written_is_read(size: int) -> None:
    assert list(fields(delimited(3, b"x" * size) + delimited(1, b""))) == [(3, b"x" * size), (1, b"")]


@pytest.mark.parametrize("message", [b"\x08", b"\x08\x80", b"\x12\x05abc", b"\x0b", b"\xff"])
def test_a_cut_or_foreign_message_is_refused(message: bytes) -> None:
    with pytest.raises(ValueError, match="no protobuf message"):
        list(fields(message))
