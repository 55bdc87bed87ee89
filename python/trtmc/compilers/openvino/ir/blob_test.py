"""Placement of constants in the weights blob."""

from __future__ import annotations

import numpy as np

from trtmc.compilers.openvino.ir.blob import ALIGNMENT, WeightsBlob


def _bytes(blob: WeightsBlob) -> bytes:
    return b"".join(blob.chunks())


def test_constants_are_aligned_and_gaps_are_zero() -> None:
    blob = WeightsBlob()
    assert blob.place([np.full(3, 7, np.uint8)]) == 0
    assert blob.place([np.full(2, 9, np.uint8)]) == ALIGNMENT
    assert _bytes(blob) == b"\7\7\7" + bytes(61) + b"\11\11"
    assert blob.length == 66


def test_small_constants_are_shared_by_content() -> None:
    blob = WeightsBlob()
    first, second = np.arange(8, dtype=np.uint8), np.arange(8, dtype=np.uint8)
    assert blob.place([first]) == blob.place([second]) == 0
    assert blob.length == 8


def test_large_constants_are_shared_by_address_only() -> None:
    blob = WeightsBlob()
    first = np.zeros(5000, np.uint8)
    assert blob.place([first]) == blob.place([first]) == 0
    assert blob.place([first.copy()]) == 5056


def test_pieces_lie_end_to_end_and_serve_alone_where_aligned() -> None:
    blob = WeightsBlob()
    a, b = np.full(5056, 1, np.uint8), np.full(5000, 2, np.uint8)
    assert blob.place([a, b]) == 0
    assert blob.length == 10056
    assert blob.place([b]) == 5056
    assert blob.length == 10056
    assert blob.read(5054, 4) == b"\1\1\2\2"


def test_nothing_is_copied_before_the_bytes_are_asked_for() -> None:
    blob, array = WeightsBlob(), np.zeros(5000, np.uint8)
    blob.place([array])
    array[:] = 5
    assert _bytes(blob) == bytes([5]) * 5000
