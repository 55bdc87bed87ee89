"""A pin that does not fit: the build stops and says which file, what was expected, what came, and what to do."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from tests.graph.harness import checkout


def forged_wheel(folder: Path, file: str, name: str, version: str) -> str:
    """A wheel of the right name with other content; returns its hash."""
    path = folder / file
    with zipfile.ZipFile(path, "w") as archive:
        info = f"{name}-{version}.dist-info"
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wheel_with_another_hash_stops_the_build(tmp_path: Path) -> None:
    with checkout(tmp_path, "tree") as tree:
        lock = (tree.folder / "third_party/wheels.lock.bzl").read_text("utf-8")
        entry = lock[lock.index('"iniconfig": {') :]
        version, file = entry.split('"version": "')[1].split('"')[0], entry.split('"any": [\n')[1].split('"')[1]
        pinned = entry.split(file)[1].split('"')[2]
        wheelhouse = tmp_path / "wheelhouse"
        wheelhouse.mkdir()
        found = forged_wheel(wheelhouse, file, "iniconfig", version)
        # A repository cache of its own, so that the right file is not simply there.
        environment = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}
        result = tree.bazel("build", "@pypi//:iniconfig", f"--repository_cache={tmp_path}/empty", env=environment)
    assert result.code != 0
    for part in (f"iniconfig=={version}: wrong SHA-256", file, pinned, found, "make lock"):
        assert part in result.text, f"the message lacks {part!r}:\n{result.text[-3000:]}"


def test_an_unknown_target_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with checkout(tmp_path, "tree") as tree:
        result = tree.bazel("build", "--config=sm_42", "//families/qwen:bundle")
        assert result.code != 0 and "sm_42" in result.text
        result = tree.bazel("build", "--config=sm_89", "//families/qwen:bundle")
        assert (
            result.code != 0
            and "target sm_89 cannot be built: there is no TensorRT-RTX compiler in this build yet" in result.text
        )
