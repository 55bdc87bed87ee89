"""Folders become checkpoints: links replaced, hashes recorded, what cannot be trusted refused by name."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path

import pytest

from trtmc.checkpoints.ingest import ingest_folder
from trtmc.checkpoints.tiny import TinySpec, generate_tiny
from trtmc.core.errors import TrtmcError

SOURCE, REVISION = "hub:org/model", "8c3f"


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder of plain files."""
    generate_tiny(tmp_path / "plain", TinySpec(layers=1, vocab_size=300))
    (tmp_path / "plain" / "README.md").write_text("not part of the checkpoint")
    return tmp_path / "plain"


@pytest.fixture
def snapshot(tmp_path: Path, plain: Path) -> Path:
    """The same as a hub's cache keeps it: a snapshot full of links into ../../blobs."""
    cache = tmp_path / "cache"
    folder = cache / "snapshots" / REVISION
    (cache / "blobs").mkdir(parents=True)
    folder.mkdir(parents=True)
    for path in plain.iterdir():
        blob = hashlib.sha256(path.read_bytes()).hexdigest()
        shutil.copyfile(path, cache / "blobs" / blob)
        (folder / path.name).symlink_to(f"../../blobs/{blob}")
    return folder


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_record(plain: Path, tmp_path: Path) -> None:
    ingest_folder(plain, tmp_path / "out", SOURCE, REVISION)
    record = json.loads((tmp_path / "out" / "checkpoint.json").read_text())
    names = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert record == {
        "version": 1,
        "source": SOURCE,
        "revision": REVISION,
        "files": [
            {
                "name": name,
                "size": (plain / name).stat().st_size,
                "sha256": hashlib.sha256((plain / name).read_bytes()).hexdigest(),
            }
            for name in names
        ],
    }
    assert sorted(_contents(tmp_path / "out")) == sorted([*names, "checkpoint.json"])


def test_a_cache_full_of_links_gives_the_same(plain: Path, snapshot: Path, tmp_path: Path) -> None:
    ingest_folder(plain, tmp_path / "a", SOURCE, REVISION)
    ingest_folder(snapshot, tmp_path / "b", SOURCE, REVISION)
    assert _contents(tmp_path / "a") == _contents(tmp_path / "b")
    assert not any(path.is_symlink() for path in (tmp_path / "b").iterdir())


def test_a_dangling_link_is_named(snapshot: Path, tmp_path: Path) -> None:
    link = snapshot / "tokenizer.json"
    target = os.readlink(link)
    (snapshot / target).unlink()
    with pytest.raises(TrtmcError) as caught:
        ingest_folder(snapshot, tmp_path / "out", SOURCE, REVISION)
    assert str(link) in caught.value.message
    assert target in caught.value.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["absolute", "relative"])
def test_a_link_out_of_the_cache_is_named(snapshot: Path, tmp_path: Path, kind: str) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    link = snapshot / "generation_config.json"
    link.unlink()
    target = str(secret) if kind == "absolute" else "../../../secret.json"
    link.symlink_to(target)
    with pytest.raises(TrtmcError) as caught:
        ingest_folder(snapshot, tmp_path / "out", SOURCE, REVISION)
    assert str(link) in caught.value.message
    assert target in caught.value.message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("source", ["/home/me/model", "./model", "~/model", "file:///x", "C:/model", ""])
def test_a_source_is_no_path_of_this_machine(plain: Path, tmp_path: Path, source: str) -> None:
    with pytest.raises(TrtmcError, match="expected a name"):
        ingest_folder(plain, tmp_path / "out", source, REVISION)
    assert not (tmp_path / "out").exists()


def test_an_interruption_leaves_nothing(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    before = sorted(os.listdir(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        ingest_folder(plain, tmp_path / "out", SOURCE, REVISION, progress=interrupt)
    assert sorted(os.listdir(tmp_path)) == before


def test_other_file_systems_get_copies(plain: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_link(*_: object) -> None:
        raise OSError("another file system")

    monkeypatch.setattr(os, "link", no_link)
    ingest_folder(plain, tmp_path / "out", SOURCE, REVISION)
    assert (tmp_path / "out" / "model.safetensors").stat().st_ino != (plain / "model.safetensors").stat().st_ino
