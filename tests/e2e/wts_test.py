"""Weight files that are odd or broken: the good ones build, the bad ones are refused with the culprit named."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.kit.models import tiny, write_shards
from tests.e2e.kit.product import answer, build, built, refused
from trtmc.core.errors import TrtmcError
from trtmc.core.safetensors import SafetensorsFile
from trtmc.e2e.tiny import Weights

ONE_FLOAT = np.array([1.0], "<f4").tobytes()


def raw_file(path: Path, header: bytes, data: bytes) -> Path:
    """A safetensors file from literal bytes."""
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)
    return path


def entry(dtype: str, shape: list[int], begin: int, end: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def header(**tensors: dict[str, object]) -> bytes:
    return json.dumps(tensors, separators=(",", ":")).encode()


def rejection(path: Path) -> TrtmcError:
    with pytest.raises(TrtmcError) as caught:
        SafetensorsFile(path)
    assert path.name in caught.value.message
    return caught.value


@pytest.mark.parametrize("padding", [b"   ", b"\t\n", b""], ids=["spaces", "tab_newline", "none"])
def test_wts_1_white_space_after_the_header_is_read(tmp_path: Path, padding: bytes) -> None:
    path = raw_file(tmp_path / "a.safetensors", header(a=entry("F32", [1], 0, 4)) + padding, ONE_FLOAT)
    with SafetensorsFile(path) as file:
        assert file.array("a").tolist() == [1.0]


def test_wts_1_nul_bytes_after_the_header_are_rejected(tmp_path: Path) -> None:
    text = header(a=entry("F32", [1], 0, 4))
    error = rejection(raw_file(tmp_path / "a.safetensors", text + b"\0\0\0", ONE_FLOAT))
    assert str(8 + len(text)) in error.message


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (
            b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
            ONE_FLOAT * 2,
        ),
        (
            b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
            ONE_FLOAT,
        ),
    ],
    ids=["two_ranges", "one_range"],
)
def test_wts_2_a_key_twice_is_rejected_by_name(tmp_path: Path, text: bytes, data: bytes) -> None:
    error = rejection(raw_file(tmp_path / "a.safetensors", text, data))
    assert error.code == "weights.duplicate_key"
    assert "'a'" in error.message


def test_wts_3_a_shape_larger_than_its_bytes(tmp_path: Path) -> None:
    error = rejection(raw_file(tmp_path / "a.safetensors", header(a=entry("F32", [1000, 1000], 0, 4)), ONE_FLOAT))
    assert all(word in error.message for word in ("a", "1000", "4000000", "4"))


def sharded(folder: Path) -> tuple[Weights, list[Path]]:
    _, weights = tiny(folder, "llama")
    return weights, write_shards(folder, weights)


def test_wts_4_two_shards_build_as_one_file_does(tmp_path: Path) -> None:
    tiny(tmp_path / "one", "llama")
    sharded(tmp_path / "two")
    ids = [1, 2, 3, 4]
    logits = [answer(built(tmp_path / name)).logits(ids) for name in ("one", "two")]
    assert np.array_equal(logits[0], logits[1])


def test_wts_4_a_missing_shard_is_named(tmp_path: Path) -> None:
    _, files = sharded(tmp_path / "m")
    files[1].unlink()
    refused(tmp_path / "m", "model.safetensors.index.json", files[1].name, "incomplete")


def test_wts_4_a_tensor_that_is_not_in_its_shard_is_named(tmp_path: Path) -> None:
    weights, files = sharded(tmp_path / "m")
    index_path = tmp_path / "m" / "model.safetensors.index.json"
    index = json.loads(index_path.read_text())
    index["weight_map"]["model.norm.weight"] = files[0].name
    index_path.write_text(json.dumps(index))
    assert "model.norm.weight" in weights
    refused(tmp_path / "m", "model.safetensors.index.json", "model.norm.weight")


@pytest.mark.parametrize("change", [lambda data: data + b"zz", lambda data: data[:-1]], ids=["two_more", "one_less"])
def test_wts_5_length_must_fit_exactly(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    tiny(tmp_path / "m", "llama")
    path = tmp_path / "m" / "model.safetensors"
    size = path.stat().st_size
    path.write_bytes(change(path.read_bytes()))
    outcome = refused(tmp_path / "m", "model.safetensors", arguments=["--precision", "fp32"])
    found = {word.strip(".,;()") for word in outcome.stderr.split()}
    assert {str(size), str(path.stat().st_size)} <= found or outcome.error_code.startswith("weights."), outcome.stderr


def test_wts_6_a_bf16_scalar_misaligns_its_neighbour(tmp_path: Path) -> None:
    text = header(s=entry("BF16", [], 0, 2), w=entry("F32", [1], 2, 6))
    text += b" " * (1 - len(text) % 2)
    assert len(text) % 2 == 1
    path = raw_file(tmp_path / "a.safetensors", text, b"\x80\x3f" + ONE_FLOAT)
    with SafetensorsFile(path) as file:
        scalar, neighbour = file.array("s"), file.array("w")
        assert scalar.shape == ()
        assert int(scalar.view(np.uint16)) == 0x3F80
        assert neighbour.tolist() == [1.0]


def hub_cache(cache: Path, plain: Path) -> Path:
    """The same checkpoint as a hub cache lays it out: a snapshot of links into blobs."""
    snapshot = cache / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    (cache / "blobs").mkdir()
    for index, file in enumerate(sorted(plain.iterdir())):
        blob = cache / "blobs" / f"{index:040x}"
        shutil.copy(file, blob)
        (snapshot / file.name).symlink_to(os.path.relpath(blob, snapshot))
    return snapshot


def test_wts_7_a_hub_cache_builds_the_same_bundle(tmp_path: Path) -> None:
    tiny(tmp_path / "plain", "llama")
    snapshot = hub_cache(tmp_path / "models--a--b", tmp_path / "plain")
    ids = [
        build(folder, tmp_path / f"{i}.bundle").json["id"] for i, folder in enumerate((tmp_path / "plain", snapshot))
    ]
    assert ids[0] == ids[1]


def test_wts_7_a_dangling_link_is_named_with_its_target(tmp_path: Path) -> None:
    tiny(tmp_path / "plain", "llama")
    snapshot = hub_cache(tmp_path / "models--a--b", tmp_path / "plain")
    link = snapshot / "model.safetensors"
    target = os.readlink(link)
    (snapshot / target).unlink()
    refused(snapshot, "model.safetensors", target)


def test_wts_7_a_link_out_of_the_cache_is_named_with_its_target(tmp_path: Path) -> None:
    tiny(tmp_path / "plain", "llama")
    snapshot = hub_cache(tmp_path / "models--a--b", tmp_path / "plain")
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(tmp_path / "plain" / "config.json")
    refused(snapshot, "config.json", str(tmp_path / "plain" / "config.json"))
