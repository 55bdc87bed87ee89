"""The engine file's layout, byte by byte, and what its reader refuses."""

from __future__ import annotations

import numpy as np
import pytest

from trtmc.compilers.openvino.engine_file import PAGE, engine_chunks, read_engine
from trtmc.compilers.openvino.ir.blob import WeightsBlob
from trtmc.core.errors import BadInput


def _engine(text: bytes = b"<net/>", weights: bytes = b"\1\2\3") -> bytearray:
    blob = WeightsBlob()
    blob.place([np.frombuffer(weights, np.uint8)])
    return bytearray(b"".join(engine_chunks(text, blob)))


def test_layout() -> None:
    data = _engine()
    header = "5452544d434f5645 01000000 00000000 0010000000000000 0600000000000000 0020000000000000 0300000000000000"
    assert data[:48] == bytes.fromhex(header)
    assert data[48:PAGE] == bytes(PAGE - 48)
    assert data[PAGE : PAGE + 6] == b"<net/>"
    assert data[PAGE + 6 : 2 * PAGE] == bytes(PAGE - 6)
    assert data[2 * PAGE :] == b"\1\2\3"


@pytest.mark.parametrize("length", [1, PAGE - 1, PAGE, PAGE + 1])
def test_weights_start_on_a_page(length: int) -> None:
    text, weights = read_engine(bytes(_engine(b"x" * length)))
    assert (bytes(text), bytes(weights)) == (b"x" * length, b"\1\2\3")


@pytest.mark.parametrize(
    ("at", "value", "code"),
    [
        (0, 0x55, "engine.bad_magic"),
        (8, 2, "engine.version"),
        (12, 1, "engine.version"),
        (16, 1, "engine.layout"),
        (24, 7, "engine.layout"),
        (33, 0x30, "engine.layout"),
        (40, 4, "engine.layout"),
    ],
)
def test_a_wrong_header_is_refused(at: int, value: int, code: str) -> None:
    data = _engine(b"x" * (PAGE if at == 24 else 6))
    data[at] = value
    with pytest.raises(BadInput) as caught:
        read_engine(bytes(data))
    assert caught.value.code == code


def test_every_cut_is_refused() -> None:
    data = bytes(_engine())
    for length in (0, 7, PAGE - 1, PAGE, PAGE + 3, 2 * PAGE, len(data) - 1):
        with pytest.raises(BadInput):
            read_engine(data[:length])
    with pytest.raises(BadInput):
        read_engine(data + b"\0")
