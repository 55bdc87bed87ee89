"""rebuild.sh, as far as it goes without Bazel: what it refuses before it writes anything. Whole rebuilds are in
//tests/graph.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from containers.airgap import kit

PYTHON = ".".join(map(str, sys.version_info[:2]))


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A kit that passes its own check, and has nothing to build."""
    folder = tmp_path / "the kit"
    folder.mkdir()
    for name in kit.PROGRAMS:
        (folder / name).write_bytes((kit.HERE / name).read_bytes())
    (folder / "rebuild.sh").chmod(0o755)
    (folder / "source.tar").write_bytes(b"")
    kit.seal(folder, kit.manifest(folder, {}, {}, PYTHON))
    return folder


def refused(folder: Path, work: Path, code: int, **environment: str) -> str:
    """What rebuild.sh says when it refuses; it must have written nothing."""
    before = {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()}
    path = os.pathsep.join([os.path.dirname(sys.executable), "/usr/bin", "/bin"])
    words = ["/bin/bash", str(folder / "rebuild.sh"), str(work)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env={"PATH": path, "HOME": "/nonexistent"} | environment
    )
    assert done.returncode == code, done.stderr
    assert {path: path.read_bytes() for path in folder.parent.rglob("*") if path.is_file()} == before
    return done.stderr


@pytest.mark.parametrize("name", ["source.tar", "verify.py", "compare.py", "rebuild.sh"])
def test_a_changed_part_is_named_before_anything_is_written(whole: Path, tmp_path: Path, name: str) -> None:
    with open(whole / name, "a", encoding="utf-8") as handle:
        handle.write("\n")
    assert f"altered  {name}" in refused(whole, tmp_path / "work", 3)
    assert not (tmp_path / "work").exists()


def test_a_module_planted_beside_the_programs_is_named_and_not_run(whole: Path, tmp_path: Path) -> None:
    (whole / "json.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n", "utf-8")
    assert "unknown  json.py" in refused(whole, tmp_path / "work", 3)
    assert not (tmp_path / "ran").exists()


def test_a_rewritten_manifest_is_found_by_the_hash_that_one_was_told(whole: Path, tmp_path: Path) -> None:
    text = refused(whole, tmp_path / "work", 3, KIT_SHA256="0" * 64)
    assert "altered  manifest.json" in text and "what you were told" in text


def test_another_python_is_named(whole: Path, tmp_path: Path) -> None:
    kit.seal(whole, kit.manifest(whole, {}, {}, "3.9"))
    assert f"wheels are for Python 3.9, python3 is {PYTHON}" in refused(whole, tmp_path / "work", 4)
    assert not (tmp_path / "work").exists()


def test_a_folder_in_the_kit_is_refused(whole: Path) -> None:
    assert "lies in the kit" in refused(whole, whole / "files" / "work", 2)


def test_a_folder_that_is_not_empty_is_refused(whole: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "mine").write_text("mine", "utf-8")
    assert f"{tmp_path}/work is not empty" in refused(whole, tmp_path / "work", 2)
