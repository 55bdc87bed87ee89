"""The air-gap kit, made from this tree and used where there is nothing: no network, an empty home, empty caches, no
Bazel.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from containers.airgap import kit as kits
from tests.graph.harness import Checkout, can_unplug, sha256

BUNDLE = "//families/llama:bundle"
BASE = "//containers:base"


@pytest.fixture(scope="module")
def kit(tree: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A kit that expects the bundle's id; `rebuild.sh` compares images alike, but they would cost all of C++ here."""
    tree.build(BUNDLE, BASE)
    (bundle,) = tree.files(BUNDLE)
    folder = tmp_path_factory.mktemp("airgap") / "kit"
    version = ".".join(map(str, sys.version_info[:2]))
    kits.make(folder, [], [bundle], version)
    yield folder
    shutil.rmtree(folder.parent, ignore_errors=True)


def rebuild(kit: Path, work: Path, targets: str) -> subprocess.CompletedProcess[str]:
    """rebuild.sh in a network namespace with `lo` alone, with next to no environment."""
    user = [] if os.getuid() == 0 else ["-r"]
    words = [
        "unshare",
        *user,
        "-n",
        "sh",
        "-c",
        'ip link set lo up && exec "$@"',
        "sh",
        str(kit / "rebuild.sh"),
        str(work),
    ]
    python = os.path.dirname(os.path.realpath(str(shutil.which("python3"))))
    env = {"PATH": f"{python}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent", "TARGETS": targets, "TESTS": ""}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env | {"BAZEL_OPTIONS": "--jobs=2"})


def test_a_machine_without_anything_rebuilds_the_same_bundle(kit: Path, tree: Checkout, tmp_path: Path) -> None:
    if not can_unplug():
        pytest.skip("not run here: no network namespace can be made")
    work = tmp_path / "work"
    try:
        done = rebuild(kit, work, f"{BUNDLE} {BASE}")
        assert done.returncode == 0, done.stderr[-4000:]
        assert "same as the kit's maker: llama/bundle.bundle" in done.stdout
        (layer,) = work.glob("out/*/execroot/_main/bazel-out/k8-opt/bin/containers/base.layer.tar.gz")
        assert sha256(layer) in {sha256(path) for path in tree.files(BASE)}
        assert not list((work / "home" / ".cache" / "trtmc" / "apt").glob("*/sources.list")), "the archive was asked"
    finally:
        subprocess.run(["chmod", "-R", "u+w", str(work)], check=False)
        shutil.rmtree(work, ignore_errors=True)


def test_a_kit_that_lost_a_file_names_it_before_anything_is_built(kit: Path, tmp_path: Path) -> None:
    pin = next(pin for pin in kits.pins(kits.TREE, "3.11") if pin.file.startswith("base-files_"))
    place = kits.stored(kit / "files", pin)
    away = tmp_path / "away"
    shutil.move(place, away)
    try:
        done = rebuild(kit, tmp_path / "work", BUNDLE)
    finally:
        shutil.move(away, place)
    assert done.returncode == 3 and f"missing  {pin.file}" in done.stderr
    assert not (tmp_path / "work").exists()
