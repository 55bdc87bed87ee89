"""Folders, links, and the record of hashes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from trtmc.core.admission import admission_record, checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput
from trtmc.testing import tiny_llama


def hub_cache(tmp_path: Path) -> Path:
    """A snapshot folder of links into ../../blobs."""
    plain = tiny_llama().write_sharded(tmp_path / "plain")
    blobs, snapshot = tmp_path / "models--x" / "blobs", tmp_path / "models--x" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, path in enumerate(sorted(plain.iterdir())):
        shutil.copyfile(path, blobs / f"blob{number}")
        (snapshot / path.name).symlink_to(f"../../blobs/blob{number}")
    return snapshot


def refused(folder: Path, code: str) -> str:
    with pytest.raises(BadInput) as caught:
        Checkpoint(folder)
    assert caught.value.code == code
    return caught.value.message


def test_hub_snapshot_is_the_same_checkpoint_as_plain_files(tmp_path: Path) -> None:
    linked, plain = Checkpoint(hub_cache(tmp_path)), Checkpoint(tmp_path / "plain")
    assert admission_record(linked) == admission_record(plain)
    assert linked.weights.names() == plain.weights.names()


def test_dangling_link(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path)
    os.unlink(tmp_path / "models--x" / "blobs" / "blob1")
    message = refused(snapshot, "checkpoint.dangling_link")
    assert "model-00001-of-00002.safetensors" in message and "'../../blobs/blob1'" in message


def test_link_out_of_the_cache(tmp_path: Path) -> None:
    snapshot = hub_cache(tmp_path)
    outside = tmp_path / "outside.json"
    shutil.copyfile(snapshot / "config.json", outside)
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(outside)
    message = refused(snapshot, "checkpoint.foreign_link")
    assert "config.json" in message and str(outside) in message


def test_link_out_of_a_plain_folder(tmp_path: Path) -> None:
    folder = tiny_llama().write(tmp_path / "model")
    shutil.move(folder / "model.safetensors", tmp_path / "w")
    (folder / "model.safetensors").symlink_to("../w")
    assert "'../w'" in refused(folder, "checkpoint.foreign_link")


def test_admitted_folder_may_link_anywhere(tmp_path: Path) -> None:
    folder = tiny_llama().write(tmp_path / "model")
    (folder / "checkpoint.json").write_text(json.dumps(admission_record(Checkpoint(folder)).to_json()))
    shutil.move(folder / "model.safetensors", tmp_path / "w")
    (folder / "model.safetensors").symlink_to("../w")
    assert admission_record(Checkpoint(folder)).source == "folder"


def test_record_does_not_depend_on_the_place_or_on_other_files(tmp_path: Path) -> None:
    first, second = tiny_llama().write(tmp_path / "a"), tiny_llama().write(tmp_path / "b")
    (second / "README.md").write_text("hello")
    record = admission_record(Checkpoint(first))
    assert record == admission_record(Checkpoint(second))
    assert [file.name for file in record.files] == ["config.json", "model.safetensors"]
    assert checkpoint_files(Checkpoint(second)) == ["config.json", "model.safetensors"]


def test_record_must_fit_the_files(tmp_path: Path) -> None:
    folder = tiny_llama().write(tmp_path / "model")
    record = admission_record(Checkpoint(folder)).to_json()
    record["files"][1]["size"] += 1
    (folder / "checkpoint.json").write_text(json.dumps(record))
    with pytest.raises(BadInput) as caught:
        admission_record(Checkpoint(folder))
    assert caught.value.code == "checkpoint.changed"
    assert "model.safetensors: has" in caught.value.message


def test_no_folder_and_no_config(tmp_path: Path) -> None:
    refused(tmp_path / "none", "checkpoint.missing")
    refused(tmp_path, "checkpoint.no_config")
