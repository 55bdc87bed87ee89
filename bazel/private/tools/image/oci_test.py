"""Images: one archive for two kinds of loaders, the same digests every time, documents that speak of the very image."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from bazel.private.tools.image.check import check
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.kit import make_deb, make_image, make_layer, make_program


def read(archive: Path, name: str) -> Any:
    with tarfile.open(archive) as tar:
        content = tar.extractfile(name)
        assert content is not None
        return json.load(content)


def blob(archive: Path, digest: str) -> Any:
    return read(archive, "blobs/sha256/" + digest.removeprefix("sha256:"))


def big_layer(folder: Path) -> dict[str, Any]:
    (folder / "weights").write_bytes(os.urandom(3 << 20))
    return make_layer(
        folder, "bundle", "none", files=[{"path": "w", "source": str(folder / "weights"), "mode": "0644"}]
    )


def test_oci_4_both_indices_name_the_same_image(tmp_path: Path) -> None:
    archive, record = make_image(tmp_path, [make_program(tmp_path), big_layer(tmp_path)])
    (docker,) = read(archive, "manifest.json")
    named, *_ = read(archive, "index.json")["manifests"]
    assert docker["RepoTags"] == ["x:1.2-sm_89"] == [record["name"]]
    assert named["annotations"]["org.opencontainers.image.ref.name"] == "1.2-sm_89"
    assert named["digest"] == record["manifest"]
    manifest = blob(archive, named["digest"])
    assert (
        docker["Config"].endswith(manifest["config"]["digest"][7:]) and manifest["config"]["digest"] == record["config"]
    )
    assert [path[-64:] for path in docker["Layers"]] == [layer["digest"][7:] for layer in manifest["layers"]]
    assert check(archive)["layers"] == 2


def test_the_same_inputs_give_the_same_archive(tmp_path: Path) -> None:
    layers = [make_program(tmp_path), big_layer(tmp_path)]
    one, _ = make_image(tmp_path, layers, "one")
    two, _ = make_image(tmp_path, layers, "two")
    assert one.read_bytes() == two.read_bytes()


def test_labels_say_version_target_and_compiler(tmp_path: Path) -> None:
    archive, record = make_image(tmp_path, [make_program(tmp_path)])
    config = blob(archive, record["config"])
    labels = config["config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == "1.2"
    assert labels["io.trtmc.target"] == "sm_89" and labels["io.trtmc.cuda.version"] == "13.0"
    assert labels["io.trtmc.tensorrt.version"] == "1.7" and labels["io.trtmc.compute_capability"] == "8.9"
    assert labels["io.trtmc.host_library"] == "libtensorrt_rtx.so.1 of version 1.7 in /usr/local/tensorrt/lib"
    assert config["created"] == "1970-01-01T00:00:00Z"
    assert "org.opencontainers.image.revision" not in labels


def test_an_image_for_every_target_names_none(tmp_path: Path) -> None:
    archive, record = make_image(tmp_path, [make_program(tmp_path)], target_info=None)
    assert record["name"] == "x:1.2"
    labels = blob(archive, record["config"])["config"]["Labels"]
    assert labels == {"org.opencontainers.image.title": "x", "org.opencontainers.image.version": "1.2"}
    manifest = blob(archive, record["provenance"])
    statement = blob(archive, manifest["layers"][0]["digest"])["predicate"]["buildDefinition"]
    assert statement["externalParameters"] == {"label": "//x:y"} and statement["internalParameters"] == {}


def test_an_image_that_holds_nvidia_s_library_asks_for_none_of_the_host(tmp_path: Path) -> None:
    held = make_layer(tmp_path, "nvidia", symlinks={"l": "x"}, packages=["pkg:pypi/tensorrt-rtx-cu13-libs@1.7"])
    archive, record = make_image(tmp_path, [make_program(tmp_path), held])
    assert "io.trtmc.host_library" not in blob(archive, record["config"])["config"]["Labels"]


def test_a_stamp_changes_a_label_and_no_layer(tmp_path: Path) -> None:
    layers = [make_program(tmp_path)]
    (tmp_path / "status").write_text("BUILD_HOST secret\nSTABLE_GIT_COMMIT abc\n", "utf-8")
    _, plain = make_image(tmp_path, layers, "plain")
    archive, stamped = make_image(tmp_path, layers, "stamped", stamp=str(tmp_path / "status"))
    assert plain["layers"] == stamped["layers"] and plain["config"] != stamped["config"]
    assert blob(archive, stamped["config"])["config"]["Labels"]["org.opencontainers.image.revision"] == "abc"
    assert b"secret" not in archive.read_bytes()


def test_attached_documents_refer_to_the_image_by_digest(tmp_path: Path) -> None:
    deb, line = make_deb(tmp_path, "base-files", {"etc/x": b""})
    base = make_layer(tmp_path, "base", debs={"files": [str(deb)], "lock": [line]})
    archive, record = make_image(tmp_path, [base, make_program(tmp_path)])
    _, sbom, statement = read(archive, "index.json")["manifests"]
    assert (sbom["artifactType"], statement["artifactType"]) == (
        "application/spdx+json",
        "application/vnd.in-toto+json",
    )
    for artifact in (sbom, statement):
        assert blob(archive, artifact["digest"])["subject"]["digest"] == record["manifest"]
    spdx = blob(archive, blob(archive, sbom["digest"])["layers"][0]["digest"])
    assert spdx["spdxVersion"] == "SPDX-2.3"
    (package,) = [row for row in spdx["packages"] if row["name"] == "base-files"]
    assert package["checksums"] == [{"algorithm": "SHA256", "checksumValue": line[:64]}]
    ids = [row["SPDXID"] for row in spdx["packages"]]
    assert len(ids) == len(set(ids)) == len(spdx["relationships"])
    claim = blob(archive, blob(archive, statement["digest"])["layers"][0]["digest"])
    assert (
        claim["_type"] == "https://in-toto.io/Statement/v1"
        and claim["predicateType"] == "https://slsa.dev/provenance/v1"
    )
    assert claim["subject"][0]["digest"]["sha256"] == record["manifest"][7:]
    assert {
        "name": "base-files",
        "uri": "pkg:deb/debian/base-files@1-1?arch=amd64",
        "digest": {"sha256": line[:64]},
    } in claim["predicate"]["buildDefinition"]["resolvedDependencies"]


def test_a_bundle_is_named_by_its_id_and_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_bytes(b"TRTMCBDL" + bytes(16) + bytes(range(32)) + bytes(8))
    bad.write_bytes(b"GGUF" + bytes(100))
    archive, record = make_image(tmp_path, [make_program(tmp_path)], bundle=str(good))
    assert blob(archive, record["config"])["config"]["Labels"]["io.trtmc.bundle.id"] == bytes(range(32)).hex()
    with pytest.raises(ImageError, match="bad is no bundle"):
        make_image(tmp_path, [make_program(tmp_path)], "second", bundle=str(bad))
    assert not (tmp_path / "second.tar").exists()


def test_a_streamed_file_that_changed_after_it_was_hashed_stops_the_archive(tmp_path: Path) -> None:
    layers = [make_program(tmp_path), big_layer(tmp_path)]
    (tmp_path / "weights").write_bytes(b"shorter")
    with pytest.raises(ImageError, match="changed while it was read"):
        make_image(tmp_path, layers)
    assert not (tmp_path / "image.tar").exists() and not list(tmp_path.glob(".*tmp"))
