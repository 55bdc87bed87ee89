"""Inputs of a run: files, random values, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trtmc.core.contract import TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, TrtmcError, UsageError
from trtmc.network import arrays

X = TensorSpec("x", DType.F32, ("n", 3))
IDS = TensorSpec("ids", DType.I64, ("n",))
PACKED = TensorSpec("q", DType.I4, (3, 3))


def _given(array: np.ndarray) -> arrays.Given:
    return arrays.Given(array, tuple(array.shape), "x.npy")


def test_what_is_missing_is_drawn_and_takes_known_sizes() -> None:
    used = arrays.complete([X, IDS], {"x": _given(np.zeros((5, 3), np.float32))}, {}, {"ids": (0, 9)}, 1)
    assert list(used) == ["x", "ids"]
    ids = used["ids"].array
    assert (ids.shape, ids.dtype, used["ids"].origin) == ((5,), np.int64, "random, seed 1")
    assert 0 <= ids.min() <= ids.max() <= 9


def test_random_values_depend_on_seed_and_name_alone() -> None:
    one = arrays.random_array(X, (2, 3), None, 7)
    np.testing.assert_array_equal(one, arrays.random_array(X, (2, 3), None, 7))
    assert not np.array_equal(one, arrays.random_array(X, (2, 3), None, 8))
    assert not np.array_equal(one, arrays.random_array(TensorSpec("y", DType.F32, ("n", 3)), (2, 3), None, 7))


@pytest.mark.parametrize("dtype", [d for d in DType if d not in (DType.F64, DType.I16, DType.F8_E5M2)])
def test_every_type_can_be_drawn(dtype: DType) -> None:
    spec = TensorSpec("x", dtype, (3, 3))
    drawn = arrays.random_array(spec, (3, 3), None, 0)
    assert drawn.dtype == dtype.storage
    arrays.check(spec, arrays.Given(drawn, (3, 3), "drawn"), {})


@pytest.mark.parametrize(
    ("array", "code", "text"),
    [
        (np.zeros((2, 3), np.float64), "network.input_dtype", "wants float32; found float64"),
        (np.zeros(3, np.float32), "network.input_shape", r"wants \[n, 3\]; found \[3\]"),
        (np.zeros((2, 4), np.float32), "network.input_shape", "differs at axis 1"),
    ],
)
def test_a_wrong_array_is_refused(array: np.ndarray, code: str, text: str) -> None:
    with pytest.raises(BadInput, match=text) as caught:
        arrays.complete([X], {"x": _given(array)}, {}, {}, 0)
    assert caught.value.code == code


def test_integers_beyond_32_bits_are_refused() -> None:
    for value in (2**31, -(2**31), -(2**63)):
        with pytest.raises(BadInput, match="the CPU computes 64-bit integers in 32 bits") as caught:
            arrays.complete([IDS], {"ids": _given(np.array([0, value]))}, {}, {}, 0)
        assert caught.value.code == "network.input_range"


def test_a_dimension_has_one_size_everywhere() -> None:
    given = {"x": _given(np.zeros((2, 3), np.float32)), "ids": _given(np.zeros(4, np.int64))}
    with pytest.raises(BadInput, match="input 'x' has n = 2"):
        arrays.complete([X, IDS], given, {}, {}, 0)


def test_an_unknown_name_lists_the_names() -> None:
    with pytest.raises(UsageError, match="no input 'y'; it has x, ids"):
        arrays.complete([X, IDS], {"y": _given(np.zeros(1))}, {}, {}, 0)


def test_an_unknown_size_asks_for_a_shape() -> None:
    with pytest.raises(UsageError, match="--shape x=N,3"):
        arrays.complete([X], {}, {}, {}, 0)


def test_packed_values_are_counted_in_bytes() -> None:
    arrays.check(PACKED, arrays.taken(PACKED, np.zeros(5, np.uint8), "q.npy"), {})
    with pytest.raises(BadInput, match="of int4 take 5 bytes; found 4"):
        arrays.check(PACKED, arrays.taken(PACKED, np.zeros(4, np.uint8), "q.npy"), {})


def test_files(tmp_path: Path) -> None:
    np.save(tmp_path / "one.npy", np.arange(3))
    np.savez(tmp_path / "two.npz", a=np.arange(3))
    assert arrays.read_array(tmp_path / "one.npy").tolist() == [0, 1, 2]
    assert list(arrays.read_arrays(tmp_path / "two.npz")) == ["a"]


@pytest.mark.parametrize("damage", ["missing", "text", "empty", "cut", "objects"])
def test_broken_files(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.npz"
    if damage == "text":
        path.write_text("hello")
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "objects":
        np.savez(path, a=np.array([{}], object))
    elif damage == "cut":
        np.savez(path, a=np.arange(1000))
        path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(TrtmcError) as caught:
        arrays.read_arrays(path)
    assert caught.value.code == ("network.no_file" if damage == "missing" else "network.input_file")


def test_an_archive_is_no_single_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", a=np.arange(3))
    with pytest.raises(BadInput, match="archive of several arrays"):
        arrays.read_array(tmp_path / "two.npz")
