"""Images in the build graph: one family is one layer; another folder, host name and time zone are no difference; a
stamp is one label.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.graph.harness import Checkout, checkout, sha256

RUNTIME = "//containers:runtime"
IMAGES = (RUNTIME, "//families/llama:image")
DIGESTS = "--output_groups=+digests"
#: Image actions alone run again; what they are made of may come from the cache.
AFRESH = "--modify_execution_info=TrtmcImage.*=+no-cache"


def record(tree: Checkout, *options: str) -> dict[str, Any]:
    """The digests of the runtime's image."""
    tree.build(RUNTIME, DIGESTS, *options)
    (archive,) = tree.files(RUNTIME, *options)
    return dict(json.loads(archive.with_name("runtime.digests.json").read_text("utf-8")))


def blob(archive: tarfile.TarFile, digest: str) -> Any:
    """A blob of an archive that is JSON."""
    content = archive.extractfile("blobs/sha256/" + digest.removeprefix("sha256:"))
    assert content is not None
    return json.load(content)


def files_of(archive: tarfile.TarFile, digest: str) -> set[str]:
    """The paths of a layer."""
    with tarfile.open(fileobj=archive.extractfile("blobs/sha256/" + digest.removeprefix("sha256:"))) as layer:
        return set(layer.getnames())


def layers(found: dict[str, Any]) -> dict[str, str]:
    return {row["name"]: row["digest"] for row in found["layers"]}


def test_a_change_of_one_family_changes_one_layer(tree: Checkout) -> None:
    before = layers(record(tree))
    with tree.appended("families/qwen/runtime/qwen_plugin.cc", '\nextern "C" const char kOneChange[] = "changed";\n'):
        after = layers(record(tree))
    assert [name for name in before if before[name] != after[name]] == ["runtime"]


def test_a_comment_changes_the_source_digest_and_no_layer(tree: Checkout) -> None:
    before = record(tree)
    with tree.appended("families/qwen/runtime/qwen_plugin.cc", "\n// One more line.\n"):
        after = record(tree)
    assert layers(before) == layers(after) and before["config"] != after["config"]


def test_bld_4_a_stamp_changes_labels_alone(tree: Checkout) -> None:
    status = tree.folder / "status.sh"
    status.write_text("#!/bin/sh\necho STABLE_GIT_COMMIT 0123456789\n", "utf-8")
    status.chmod(0o755)
    before = record(tree)
    after = record(tree, "--stamp", f"--workspace_status_command={status}")
    assert layers(before) == layers(after) and before["config"] != after["config"]


def test_oci_1_another_folder_and_host_name_give_the_same_archives(tree: Checkout, tmp_path: Path) -> None:
    tree.build(*IMAGES)
    with checkout(tmp_path, "another") as second:
        if shutil.which("unshare"):
            second.prefix = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
        environment = {"HOSTNAME": "elsewhere", "TZ": "Pacific/Kiritimati", "LC_ALL": "POSIX", "USER": "other"}
        spawns = second.build(AFRESH, *IMAGES, env=environment)
        assert {"TrtmcImageLayer", "TrtmcImage"} <= {spawn.mnemonic for spawn in spawns.executed()}
        for target in IMAGES:
            (mine,), (theirs,) = tree.files(target), second.files(target)
            assert sha256(mine) == sha256(theirs), target


def test_nvidia_s_library_is_one_layer_more_with_its_licence_and_only_where_it_was_asked_for(tree: Checkout) -> None:
    gpu, inside = "--config=sm_89", "--//containers:nvidia_libraries=image"
    host, held = record(tree, gpu), record(tree, gpu, inside)
    assert list(layers(held).items()) == [*layers(host).items(), ("nvidia", layers(held)["nvidia"])]
    for found in (host, held):
        assert sum(row["size"] for row in found["layers"]) < 200_000_000
    (path,) = tree.files(RUNTIME, gpu, inside)
    with tarfile.open(path) as archive:
        nvidia = files_of(archive, layers(held)["nvidia"])
        assert {"usr/local/tensorrt/lib/libtensorrt_rtx.so.1", "usr/share/doc/tensorrt-rtx/LICENSE.txt"} <= nvidia
        for digest in layers(host).values():
            names = {name.rpartition("/")[2] for name in files_of(archive, digest)}
            assert not [name for name in names if name.startswith(("libtensorrt_rtx", "libnvinfer", "libcudart"))]
        assert "io.trtmc.host_library" not in blob(archive, held["config"])["config"]["Labels"]
        document = blob(archive, blob(archive, held["sbom"])["layers"][0]["digest"])
    (package,) = (row for row in document["packages"] if row["name"].startswith("tensorrt"))
    assert package["externalRefs"][0]["referenceLocator"].startswith("pkg:pypi/tensorrt-rtx-cu13-libs@")
    assert package["comment"] == "in layer 'nvidia'"


@pytest.mark.parametrize("option", ["--config=sm_42", "--platforms=//bazel/targets:sm_42"])
def test_an_unknown_target_is_refused_by_name(tree: Checkout, option: str) -> None:
    result = tree.bazel("build", "--nobuild", option, RUNTIME)
    assert result.code != 0 and "sm_42" in result.text


def test_a_package_that_is_not_the_locked_one_stops_the_image(tree: Checkout, tmp_path: Path) -> None:
    lock = tree.folder / "third_party" / "debs.lock.bzl"
    text = lock.read_text("utf-8")
    line = next(row for row in text.splitlines() if "  ca-certificates  " in row)
    wrong = "0" * 64
    lock.write_text(text.replace(line.strip()[1:65], wrong), "utf-8")
    try:
        result = tree.bazel("build", "//containers:base")
    finally:
        lock.write_text(text, "utf-8")
    assert result.code != 0
    for part in ("ca-certificates_", "wrong SHA-256", wrong, line.strip()[1:65], "make lock"):
        assert part in result.text, part
