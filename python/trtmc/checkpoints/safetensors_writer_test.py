"""The safetensors writer against the reference reader and against its own promises."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from trtmc.checkpoints.safetensors_writer import SafetensorsWriter, TensorDecl, encode_header
from trtmc.core.errors import TrtmcError

DECLARED = [TensorDecl("b", "F16", (2, 3)), TensorDecl("a", "F32", (4,)), TensorDecl("s", "F32", ())]
VALUES = {
    "b": np.arange(6, dtype=np.float16).reshape(2, 3),
    "a": np.arange(4, dtype=np.float32),
    "s": np.array(7.5, np.float32),
}


def test_the_reference_reads_it(tmp_path: Path) -> None:
    with SafetensorsWriter(tmp_path / "x", DECLARED, {"format": "pt"}) as writer:
        writer.write("b", [VALUES["b"][:1], VALUES["b"][1:]])
        writer.write("a", [VALUES["a"]])
        writer.write("s", [VALUES["s"]])
    found = load_file(tmp_path / "x")
    assert found.keys() == VALUES.keys()
    for name, values in VALUES.items():
        np.testing.assert_array_equal(found[name], values)


def test_data_is_aligned() -> None:
    header = encode_header(DECLARED, {"format": "pt"})
    assert len(header) % 64 == 0
    assert int.from_bytes(header[:8], "little") == len(header) - 8
    assert header[8:].startswith(
        b'{"__metadata__":{"format":"pt"},"b":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]}'
    )


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [("b", [VALUES["b"]])],
        [("a", [VALUES["a"]])],
        [("b", [VALUES["b"][:1]])],
        [("b", [VALUES["b"], VALUES["b"]])],
        [("b", [VALUES["b"].astype(np.float32)])],
        [("b", [np.asfortranarray(VALUES["b"])])],
    ],
)
def test_a_broken_promise_leaves_no_file(tmp_path: Path, calls: list[tuple[str, list[np.ndarray]]]) -> None:
    with pytest.raises(ValueError, match="tensor '"), SafetensorsWriter(tmp_path / "x", DECLARED, {}) as writer:
        for name, chunks in calls:
            writer.write(name, chunks)
    assert list(tmp_path.iterdir()) == []


def test_duplicate_names_are_refused() -> None:
    with pytest.raises(TrtmcError, match="'a' is declared twice"):
        encode_header([TensorDecl("a", "F32", (1,)), TensorDecl("a", "F32", (1,))], {})
