"""Shards, index files, and the ledger of used tensors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from trtmc.core.contract import WeightBinding
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput
from trtmc.core.weights import INDEX_NAME, WeightFiles, Weights, WeightSource
from trtmc.testing import safetensors_bytes, tiny_llama

SECOND = "model-00002-of-00002.safetensors"


def refused(code: str, folder: Path) -> str:
    with pytest.raises(BadInput) as caught:
        WeightFiles(folder)
    assert caught.value.code == code
    return caught.value.message


def single(tmp_path: Path, dtype: str = "F32", **tensors: np.ndarray) -> WeightFiles:
    (tmp_path / "model.safetensors").write_bytes(safetensors_bytes(tensors, dtype))
    return WeightFiles(tmp_path)


def edit_index(folder: Path, **change: str | None) -> None:
    path = folder / INDEX_NAME
    index = json.loads(path.read_text())
    for name, shard in change.items():
        index["weight_map"].pop(name) if shard is None else index["weight_map"].update({name: shard})
    path.write_text(json.dumps(index))


def test_shards_read_like_one_file(tmp_path: Path) -> None:
    model = tiny_llama()
    one, many = WeightFiles(model.write(tmp_path / "one")), WeightFiles(model.write_sharded(tmp_path / "many"))
    assert one.names() == many.names()
    assert all(np.array_equal(one.array(name), many.array(name)) for name in one.names())
    assert [path.name for path in many.files()] == ["model-00001-of-00002.safetensors", SECOND]


def test_missing_shard(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    (folder / SECOND).unlink()
    message = refused("weights.missing_shard", folder)
    assert INDEX_NAME in message and SECOND in message and "download looks incomplete" in message


def test_shard_without_a_tensor_of_the_index(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    edit_index(folder, **{"model.extra.weight": SECOND})
    message = refused("weights.index.missing_tensor", folder)
    assert "'model.extra.weight'" in message and SECOND in message and "download looks incomplete" in message


def test_tensor_that_the_index_does_not_list(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    edit_index(folder, **{"model.norm.weight": None})
    assert "'model.norm.weight'" in refused("weights.index.unlisted", folder)


def test_tensor_in_another_shard(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    edit_index(folder, **{"lm_head.weight": SECOND})
    assert "'lm_head.weight'" in refused("weights.index.wrong_shard", folder)


@pytest.mark.parametrize("shard", ["../other.safetensors", "/etc/passwd", "..", "a/b.safetensors"])
def test_index_cannot_leave_the_folder(tmp_path: Path, shard: str) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    edit_index(folder, **{"model.norm.weight": shard})
    assert shard in refused("weights.index.path", folder)


@pytest.mark.parametrize("content", [b"[]", b"{}", b'{"weight_map": {}}', b'{"weight_map": {"a": 1}}', b"{"])
def test_malformed_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / INDEX_NAME).write_bytes(content)
    with pytest.raises(BadInput) as caught:
        WeightFiles(tmp_path)
    assert caught.value.code.startswith("weights.index")


def test_same_tensor_in_two_shards(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    (folder / SECOND).write_bytes((folder / "model-00001-of-00002.safetensors").read_bytes())
    assert SECOND in refused("weights.duplicate_tensor", folder)


def test_single_file_next_to_an_index(tmp_path: Path) -> None:
    folder = tiny_llama().write_sharded(tmp_path)
    tiny_llama().write(folder)
    refused("weights.ambiguous", folder)


def test_no_weights(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    assert "only safetensors" in refused("weights.missing_file", tmp_path)


def test_unconverted_tensor_is_a_view(tmp_path: Path) -> None:
    source = WeightSource(single(tmp_path, w=np.ones((2, 3), np.float32)), DType.F32)
    data = source.take("w", (2, 3))
    assert not data.array.flags.owndata
    assert source.converted_bytes == 0


def test_converted_tensor_is_counted(tmp_path: Path) -> None:
    source = WeightSource(single(tmp_path, w=np.ones((2, 3), np.float32)), DType.F16)
    assert source.take("w", (2, 3)).array.tolist() == [[1.0] * 3] * 2
    assert source.converted_bytes == 12


def test_unaligned_tensor_is_copied(tmp_path: Path) -> None:
    content = safetensors_bytes({"w": np.float32([1.0, 2.0])})
    header = content[8:-8] + b" "
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + content[-8:])
    source = WeightSource(WeightFiles(tmp_path), DType.F32)
    assert not source.files.array("w").flags.aligned
    data = source.take("w", (2,))
    assert data.array.flags.aligned and data.array.tolist() == [1.0, 2.0]


def test_wrong_shape(tmp_path: Path) -> None:
    source = WeightSource(single(tmp_path, w=np.ones((2, 3), np.float32)), DType.F32)
    with pytest.raises(BadInput) as caught:
        source.take("w", (3, 2))
    assert caught.value.code == "weights.shape"
    assert "tensor 'w' has shape [2, 3], but the config asks for [3, 2]" in caught.value.message


def test_leftovers_and_missing_are_named(tmp_path: Path) -> None:
    one = np.ones(1, np.float32)
    source = WeightSource(single(tmp_path, used=one, left=one, rope_inv_freq=one), DType.F32)
    source.take("used", (1,))
    with pytest.raises(BadInput, match=r"nothing uses tensor 'left'") as caught:
        source.finish({"*inv_freq": "computed"})
    assert caught.value.code == "weights.unused_tensor"
    with pytest.raises(BadInput, match=r"lacks tensors 'x', 'y' \(x is vital\)") as caught:
        source.require(["used", "x", "y"], {"x": "x is vital"})
    assert caught.value.code == "weights.missing_tensor"
    source.skip("left")
    source.finish({"*inv_freq": "computed"})


@pytest.mark.parametrize(("dtype", "expected"), [("F32", DType.F32), ("F16", DType.F16), ("BF16", DType.BF16)])
def test_dominant_dtype(tmp_path: Path, dtype: str, expected: DType) -> None:
    assert single(tmp_path, dtype, w=np.ones(8, np.float32)).dominant_dtype() is expected


def matrix(rows: int, columns: int) -> np.ndarray:
    return np.linspace(-1, 1, rows * columns, dtype=np.float32).reshape(rows, columns)


def test_large_matrices_can_stay_outside(tmp_path: Path) -> None:
    tensors = {"big": matrix(128, 128), "small": matrix(128, 127), "vector": np.ones(65536, np.float32)}
    source = WeightSource(single(tmp_path, **tensors), DType.F16, Weights.EXTERNAL)
    big, small = source.take("big", (128, 128)), source.take("small", (128, 127))
    assert big.binding == WeightBinding("big", DType.F16, (128, 128), "big", ("cast",))
    assert (big.array.size, big.dtype) == (0, DType.F16)  # nothing to read by mistake
    assert small.binding is None  # 508 bytes too few
    assert small.array.shape == (128, 127)
    assert source.take("vector", (65536,)).binding is None
    assert source.take("big", (128, 128), DType.F32).binding == WeightBinding("big", DType.F32, (128, 128), "big")
    source.finish({})
    assert WeightSource(source.files, DType.F16).take("big", (128, 128)).binding is None


@pytest.mark.parametrize(("value", "code"), [(70000.0, "weights.overflow"), (np.nan, "weights.not_finite")])
def test_what_stays_outside_is_checked_all_the_same(tmp_path: Path, value: float, code: str) -> None:
    broken = matrix(300, 600)
    broken[255, 511] = value
    source = WeightSource(single(tmp_path, big=broken), DType.F16, Weights.EXTERNAL)
    with pytest.raises(BadInput, match=r"tensor 'big'.*\[255, 511\]") as caught:
        source.take("big", (300, 600))
    assert caught.value.code == code
