"""A disk that fills while a layer, an image, a bundle or an air-gap kit is written: a file system of one megabyte, for
real. Each says so, with the path and exit code 7, leaves nothing behind, and keeps what was there before.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bazel.private.tools.image import kit as parts
from bazel.private.tools.image.main import main as image_tool
from containers.airgap import kit as airgap
from containers.airgap.pins import Kind, Pin
from tests.images.archives import BUNDLE
from trtmc.bundle import SectionSource, read_bundle, write_bundle
from trtmc.core.errors import TrtmcError

RESOURCE = 7


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte, with an older result on it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=1m", "trtmc-test", str(folder)]
    if os.getuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode != 0:
        pytest.skip("not run here: only root can mount a small file system")
    try:
        (folder / "older").write_bytes(b"older")
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def intact(disk: Path) -> bool:
    """Only what was there before is there."""
    return [(path.name, path.read_bytes()) for path in disk.iterdir()] == [("older", b"older")]


def blob(folder: Path) -> Path:
    """Three megabytes that do not shrink."""
    (folder / "big").write_bytes(os.urandom(3 << 20))
    return folder / "big"


def test_a_layer(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"path": "x", "source": str(blob(tmp_path)), "mode": "0644"}
    manifest = {"name": "a", "architecture": "amd64", "compression": "gzip", "files": [row]}
    (tmp_path / "m.json").write_text(json.dumps(manifest), "utf-8")
    assert image_tool(["layer", str(tmp_path / "m.json"), str(disk / "descriptor"), str(disk / "older")]) == RESOURCE
    said = capsys.readouterr().err
    assert f"error [image.write_failed]: cannot write {disk}/older: No space left on device" in said
    assert intact(disk)


def test_an_image(disk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [{"path": "w", "source": str(blob(tmp_path)), "mode": "0644"}]
    parts.make_image(tmp_path, [parts.make_program(tmp_path), parts.make_layer(tmp_path, "big", "none", files=files)])
    assert image_tool(["image", str(tmp_path / "image.spec"), str(disk / "older"), str(disk / "record")]) == RESOURCE
    said = capsys.readouterr().err
    assert f"error [image.write_failed]: cannot write {disk}/older: No space left on device" in said
    assert intact(disk)


@dataclass(frozen=True)
class Bytes:
    """A section's content as the packer takes it."""

    view: memoryview

    @property
    def length(self) -> int:
        return len(self.view)

    def chunks(self) -> Iterator[memoryview]:
        yield self.view


def test_a_bundle(disk: Path) -> None:
    with read_bundle(BUNDLE) as bundle:
        header = dataclasses.replace(bundle.header, sections=())
        sources = [
            SectionSource(section.name, section.media_type, Bytes(memoryview(bundle.section(section.name))))
            for section in bundle.header.sections
        ]
        with pytest.raises(TrtmcError, match="No space left on device; free some space") as caught:
            write_bundle(disk / "older", header, sources)
        del sources
    assert (caught.value.code, caught.value.exit_code) == ("bundle.write_failed", RESOURCE)
    assert str(disk / "older") in str(caught.value)
    assert intact(disk)


@pytest.mark.parametrize("name", ["kit", "kit.tar"])
def test_an_air_gap_kit(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    sha256 = airgap.sha256_of(blob(tmp_path))
    pin = Pin(sha256, "a-1.whl", Kind.WHEEL, "a==1")
    stored = airgap.stored(tmp_path / "cache", pin)
    stored.parent.mkdir(parents=True)
    (tmp_path / "big").rename(stored)
    monkeypatch.setattr(airgap, "pins", lambda *_: [pin])
    monkeypatch.setattr(airgap, "source_files", lambda: [])
    monkeypatch.setattr(airgap, "repository_cache", lambda: tmp_path / "cache")
    assert airgap.main(["--out", str(disk / name)]) == RESOURCE
    said = capsys.readouterr().err
    assert f"cannot write the kit: {disk}/" in said and "No space left on device; nothing was left behind" in said
    assert intact(disk)
