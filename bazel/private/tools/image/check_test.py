"""The check of finished archives: each fault that it looks for, made on purpose."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from bazel.private.tools.image.check import check
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.kit import ELF, make_image, make_layer, make_program


def changed(archive: Path, change: dict[str, bytes]) -> Path:
    """The archive with members replaced."""
    out = archive.with_suffix(".changed")
    with tarfile.open(archive) as old, tarfile.open(out, "w", format=tarfile.USTAR_FORMAT) as new:
        for member in old:
            content = old.extractfile(member)
            data = change.get(member.name, content.read() if content else b"")
            member.size = len(data)
            new.addfile(member, io.BytesIO(data) if member.isfile() else None)
    return out


def refused(archive: Path, code: str) -> str:
    with pytest.raises(ImageError) as caught:
        check(archive)
    assert caught.value.code == code
    return str(caught.value)


def test_a_sound_image_passes(tmp_path: Path) -> None:
    archive, record = make_image(tmp_path, [make_program(tmp_path)])
    report = check(archive)
    assert report["manifest"] == record["manifest"] and report["files"] == 1


def test_a_blob_with_another_content_is_found(tmp_path: Path) -> None:
    archive, record = make_image(tmp_path, [make_program(tmp_path)])
    name = "blobs/sha256/" + record["layers"][0]["digest"][7:]
    with tarfile.open(archive) as tar:
        content = tar.extractfile(name)
        data = bytearray(content.read() if content else b"")
    data[-1] ^= 1
    assert "another content than its name says" in refused(changed(archive, {name: bytes(data)}), "image.check")


def with_descriptor(layer: dict[str, Any], **changes: Any) -> dict[str, Any]:
    path = Path(layer["descriptor"])
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    return layer


def test_a_layer_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    layer = make_program(tmp_path)
    for content in (b"no gzip", gzip.compress(b"no tar" * 100), gzip.compress(b"x" * 5000)[:-9]):
        Path(layer["blob"]).write_bytes(content)
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        with_descriptor(layer, digest=digest, size=len(content))
        assert "cannot be read" in refused(make_image(tmp_path, [layer])[0], "image.check")


def test_a_layer_that_unpacks_to_something_else_is_refused(tmp_path: Path) -> None:
    layer = with_descriptor(make_program(tmp_path), diff_id="sha256:" + "0" * 64)
    assert "does not unpack to" in refused(make_image(tmp_path, [layer])[0], "image.check")


def test_two_indices_that_differ_are_found(tmp_path: Path) -> None:
    archive, _ = make_image(tmp_path, [make_program(tmp_path)])
    with tarfile.open(archive) as tar:
        docker: Any = json.load(tar.extractfile("manifest.json"))  # type: ignore[arg-type]
    docker[0]["Layers"] = []
    bad = changed(archive, {"manifest.json": json.dumps(docker).encode()})
    assert "name different images" in refused(bad, "image.check")


def test_a_program_for_another_architecture_is_refused(tmp_path: Path) -> None:
    arm = ELF[:18] + (183).to_bytes(2, "little")
    archive, _ = make_image(tmp_path, [make_program(tmp_path, arm)])
    assert "ELF machine 183" in refused(archive, "image.wrong_architecture")


def test_an_entry_point_that_is_not_there_is_refused(tmp_path: Path) -> None:
    archive, _ = make_image(tmp_path, [make_layer(tmp_path, "a", symlinks={"x": "y"})])
    assert "'/bin/app' is in no layer" in refused(archive, "image.no_entrypoint")


def test_an_entry_point_behind_links_is_found(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(ELF)
    row = {"path": "usr/bin/app", "source": str(tmp_path / "app"), "mode": "0755"}
    check(make_image(tmp_path, [make_layer(tmp_path, "a", files=[row], symlinks={"bin": "usr/bin"})])[0])


def test_an_entry_point_removed_by_a_later_layer_is_refused(tmp_path: Path) -> None:
    layers = [make_program(tmp_path), make_layer(tmp_path, "b", removed=["bin/app"])]
    refused(make_image(tmp_path, layers)[0], "image.no_entrypoint")


def test_a_shell_passes_where_the_image_is_one_to_build_in(tmp_path: Path) -> None:
    (tmp_path / "sh").write_bytes(ELF)
    shell = make_layer(tmp_path, "sh", files=[{"path": "usr/bin/bash", "source": str(tmp_path / "sh"), "mode": "0755"}])
    config = {"Cmd": ["/usr/bin/bash"], "User": "65532:65532"}
    archive, _ = make_image(tmp_path, [shell], config=config)
    assert check(archive, shell=True)["files"] == 1
    assert "holds a shell, /usr/bin/bash" in refused(archive, "image.shell")


def test_a_command_stands_in_for_an_entry_point_and_must_be_there(tmp_path: Path) -> None:
    archive, _ = make_image(tmp_path, [make_program(tmp_path)], config={"Cmd": ["/usr/bin/no"], "User": "65532:65532"})
    assert "'/usr/bin/no' is in no layer" in refused(archive, "image.no_entrypoint")


def test_a_shell_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sh").write_bytes(ELF)
    shell = make_layer(tmp_path, "s", files=[{"path": "bin/dash", "source": str(tmp_path / "sh"), "mode": "0755"}])
    assert "/bin/dash" in refused(make_image(tmp_path, [make_program(tmp_path), shell])[0], "image.shell")


@pytest.mark.parametrize("user", ["", "0", "root"])
def test_root_is_refused(tmp_path: Path, user: str) -> None:
    config = {"Entrypoint": ["/bin/app"], "User": user}
    refused(make_image(tmp_path, [make_program(tmp_path)], config=config)[0], "image.root")
