"""Literal files in, exact error out; and the verdict of the reference package on every one of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import safetensors

from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, Unsupported
from trtmc.core.safetensors import SafetensorsFile

A = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'
ONE = np.float32(1.0).tobytes()


def raw(header: bytes, data: bytes = ONE) -> bytes:
    return len(header).to_bytes(8, "little") + header + data


def entry(**edit: object) -> bytes:
    value = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4], **edit}
    return json.dumps({"a": value}).encode()


def open_file(tmp_path: Path, content: bytes) -> SafetensorsFile:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    return SafetensorsFile(path)


def reference_accepts(tmp_path: Path, content: bytes) -> bool:
    path = tmp_path / "reference.safetensors"
    path.write_bytes(content)
    try:
        with safetensors.safe_open(path, "np"):
            return True
    except Exception:  # the reference raises several kinds
        return False


GOOD = {
    "plain": raw(A),
    "spaces": raw(A + b"   "),
    "tab and newline": raw(A + b"\t\n"),
    "no tensors": raw(b"{}", b""),
    "metadata": raw(b'{"__metadata__":{"format":"pt"},' + A[1:]),
    "null metadata": raw(b'{"__metadata__":null,' + A[1:]),
    "empty tensor": raw(entry(shape=[0], data_offsets=[0, 0]), b""),
    "any order": raw(
        b'{"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}',
        b"xy",
    ),
    "float4": raw(entry(dtype="F4", shape=[8])),
}


@pytest.mark.parametrize("name", GOOD)
def test_good_files_are_read(tmp_path: Path, name: str) -> None:
    assert reference_accepts(tmp_path, GOOD[name])
    with open_file(tmp_path, GOOD[name]):
        pass


# name -> (bytes, error code, a piece of the message)
BAD = {
    "NUL padding": (raw(A + b"\0\0\0"), "weights.header_json", f"at byte {8 + len(A)}"),
    "empty file": (b"", "weights.truncated", "expected at least 8 bytes"),
    "cut in the length": (b"\x01\x02\x03", "weights.truncated", "found 3"),
    "huge header": (b"\xff" * 8 + A, "weights.header_too_large", "18446744073709551615"),
    "header past the end": ((1000).to_bytes(8, "little") + A, "weights.header_length", "is 1000"),
    "empty header": (raw(b"", b""), "weights.header_start", "found nothing"),
    "not UTF-8": (raw(b'{"\xff":1}', b""), "weights.header_utf8", "byte 10"),
    "array": (raw(b"[]", b""), "weights.header_start", "0x5b"),
    "half an object": (raw(A[:-1]), "weights.header_json", "found the end"),
    "NaN": (raw(b'{"a":NaN}'), "weights.header_json", "NaN"),
    "lone surrogate": (raw(A.replace(b'"a"', b'"\\ud800"')), "weights.header_json", "surrogates"),
    "minus zero": (raw(A.replace(b"[0,4]", b"[-0,4]")), "weights.header_json", "-0"),
    "too deep": (raw(b'{"a":' + b"[" * 100000 + b"]" * 100000 + b"}"), "weights.header_json", "recursion"),
    "metadata numbers": (raw(b'{"__metadata__":{"a":1},' + A[1:]), "weights.metadata", "strings to strings"),
    "no shape": (raw(b'{"a":{"dtype":"F32","data_offsets":[0,4]}}'), "weights.entry_keys", "shape"),
    "unknown dtype": (raw(entry(dtype="F31")), "weights.entry_dtype", "'F31'"),
    "negative size": (raw(entry(shape=[-1])), "weights.entry_shape", "[-1]"),
    "boolean size": (raw(entry(shape=[True])), "weights.entry_shape", "[True]"),
    "fractional size": (raw(entry(shape=[1.0])), "weights.entry_shape", "[1.0]"),
    "three offsets": (raw(entry(data_offsets=[0, 4, 8])), "weights.entry_offsets", "two byte offsets"),
    "backward range": (raw(entry(data_offsets=[4, 0])), "weights.entry_offsets", "end at 0"),
    "shape larger than bytes": (raw(entry(shape=[1000, 1000])), "weights.entry_size", "needs 4000000 bytes"),
    "element overflow": (raw(entry(shape=[2**40, 2**40])), "weights.entry_overflow", "64 bits"),
    "overflow before zero": (
        raw(entry(shape=[2**40, 2**40, 0], data_offsets=[0, 0]), b""),
        "weights.entry_overflow",
        "64",
    ),
    "bit overflow": (raw(entry(shape=[2**60])), "weights.entry_overflow", "more bits"),
    "half a byte": (raw(entry(dtype="F4", shape=[1], data_offsets=[0, 1]), b"x"), "weights.entry_size", "4 bits"),
    "gap": (raw(entry(data_offsets=[4, 8]), bytes(8)), "weights.layout", "a gap before tensor 'a'"),
    "overlap": (
        raw(b'{"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' + A[1:]),
        "weights.layout",
        "an overlap before tensor",
    ),
    "bytes after the last tensor": (raw(A, ONE + b"zz"), "weights.file_length", "bytes follow the last tensor"),
    "cut by a byte": (raw(A, ONE[:-1]), "weights.file_length", "looks incomplete"),
    "a key twice, two ranges": (
        raw(
            b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
            ONE + ONE,
        ),
        "weights.duplicate_key",
        "'a' twice",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_like_the_reference(tmp_path: Path, name: str) -> None:
    content, code, piece = BAD[name]
    assert not reference_accepts(tmp_path, content)
    with pytest.raises(BadInput) as caught:
        open_file(tmp_path, content)
    assert caught.value.code == code
    assert piece in caught.value.message
    assert str(tmp_path / "model.safetensors") in caught.value.message


# Where the format's page is stricter than the package, so are we.
STRICTER = {
    "a key twice, one range": (raw(A[:-1] + b"," + A[1:]), "weights.duplicate_key"),
    "leading space": (raw(b" " + A), "weights.header_start"),
    "extra key": (raw(entry(note=1)), "weights.entry_keys"),
    "entry is a list": (raw(b'{"a":["F32",[1],[0,4]]}'), "weights.entry_keys"),
    "dtype as an object": (raw(entry(dtype={"F32": None})), "weights.entry_dtype"),
}


@pytest.mark.parametrize("name", STRICTER)
def test_stricter_rules(tmp_path: Path, name: str) -> None:
    content, code = STRICTER[name]
    assert reference_accepts(tmp_path, content)
    with pytest.raises(BadInput) as caught:
        open_file(tmp_path, content)
    assert caught.value.code == code


def test_scalar_that_misaligns_its_neighbour(tmp_path: Path) -> None:
    header = (
        b'{"s":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"w":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}}'
    )
    assert len(header) % 2 == 1
    with open_file(tmp_path, raw(header, b"\x80\x3f" + ONE)) as file:
        scalar, vector = file.array("s"), file.array("w")
        assert (scalar.shape, scalar.item(), file.entries["s"].dtype) == ((), 0x3F80, DType.BF16)
        assert (vector.shape, vector.item()) == ((1,), 1.0)
        assert not vector.flags.owndata and not vector.flags.writeable  # a view of the map, not a copy


def test_views_outlive_the_file_and_its_pages(tmp_path: Path) -> None:
    values = np.arange(10000, dtype=np.float32)
    header = json.dumps({"a": {"dtype": "F32", "shape": [10000], "data_offsets": [0, 40000]}}).encode()
    file = open_file(tmp_path, raw(header, values.tobytes()))
    view = file.array("a")
    file.release("a")
    file.release_all()
    file.close()
    assert np.array_equal(view, values)


def test_unimplemented_dtype_is_listed_but_not_read(tmp_path: Path) -> None:
    with open_file(tmp_path, raw(entry(dtype="U32"))) as file:
        assert file.entries["a"].format_dtype == "U32"
        with pytest.raises(Unsupported, match="tensor 'a' has dtype U32"):
            file.array("a")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        SafetensorsFile(tmp_path / "none.safetensors")
    assert caught.value.code == "weights.unreadable"


@pytest.mark.parametrize("length", range(len(GOOD["metadata"])))
def test_every_cut_is_refused(tmp_path: Path, length: int) -> None:
    content = GOOD["metadata"][:length]
    with pytest.raises(BadInput):
        open_file(tmp_path, content)
