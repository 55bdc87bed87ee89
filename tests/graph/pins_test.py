"""What does not fit stops the build: a file that is not the pinned one, a target that cannot be built."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from tests.graph.harness import Checkout
from tools.lock import LOCKS


def forged_wheel(folder: Path, file: str, name: str, version: str) -> str:
    """A wheel of the right name with other content; returns its hash."""
    folder.mkdir()
    path = folder / file
    with zipfile.ZipFile(path, "w") as archive:
        info = f"{name}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wheel_with_another_hash_stops_the_build(tree: Checkout, tmp_path: Path) -> None:
    pin = LOCKS["wheels"].read()["iniconfig"]
    file, pinned = pin["files"]["any"]
    found = forged_wheel(tmp_path / "wheelhouse", file, "iniconfig", pin["version"])
    # A repository cache of its own, so that the right file is not simply there.
    environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheelhouse")}
    result = tree.bazel("build", "@pypi//:iniconfig", f"--repository_cache={tmp_path}/empty", env=environment)
    assert result.code != 0
    for part in (f"iniconfig=={pin['version']}: wrong SHA-256", file, pinned, found, "make lock"):
        assert part in result.text, f"the message lacks {part!r}:\n{result.text[-3000:]}"


def test_a_target_without_a_compiler_says_so(tree: Checkout) -> None:
    result = tree.bazel("build", "--nobuild", "--config=sm_90", "//families/qwen:bundle")
    sentence = "target sm_90 cannot be built: this build has no TensorRT 11 builder library"
    assert result.code != 0 and sentence in result.text


def test_an_unknown_target_is_refused_by_name(tree: Checkout) -> None:
    result = tree.bazel("build", "--nobuild", "--config=sm_42", "//families/qwen:bundle")
    assert result.code != 0 and "sm_42" in result.text
