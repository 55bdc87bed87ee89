"""Real files and back: links stay links, modes are two, and packages that make no Bazel stop the build."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bazel.private.tools.image import bazel_install
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.kit import make_deb
from bazel.private.tools.image.tarball import directory, file, symlink


def test_entries_survive_the_way_over_real_files(tmp_path: Path) -> None:
    entries = {
        b"usr/bin/tool": file(b"x", 0o755),
        b"usr/share/data": file(b"y", 0o640),
        b"usr/lib/link": symlink(b"../bin/tool"),
        b"usr/share/folder": symlink(b"/opt/bazel/elsewhere"),
        b"usr/empty": directory(),
    }
    bazel_install._write(entries, os.fsencode(tmp_path))
    found = bazel_install._read(os.fsencode(tmp_path), b"opt/b")
    assert found == {
        b"opt/b/usr/bin/tool": file(b"x", 0o755),
        b"opt/b/usr/share/data": file(b"y", 0o644),
        b"opt/b/usr/lib/link": symlink(b"../bin/tool"),
        b"opt/b/usr/share/folder": symlink(b"/opt/bazel/elsewhere"),
    }


def wanted(tmp_path: Path, **files: bytes) -> dict[str, Any]:
    path, line = make_deb(tmp_path, "bazel-bootstrap", files)
    lock = tmp_path / "bazel.debs.lock"
    lock.write_text(line + "\n", "utf-8")
    return {"files": [str(path)], "lock_file": str(lock), "prefix": "opt/b", "options": []}


def test_packages_that_make_no_bazel_are_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="is libc6 among them") as caught:
        bazel_install.install(wanted(tmp_path, a=b""), "amd64")
    assert caught.value.code == "image.bad_bazel" and "deps.toml" in str(caught.value)


def test_a_wrong_hash_is_refused_before_anything_runs(tmp_path: Path) -> None:
    rows = wanted(tmp_path, a=b"")
    lock = Path(rows["lock_file"])
    lock.write_text("0" * 64 + lock.read_text("utf-8")[64:], "utf-8")
    with pytest.raises(ImageError, match="wrong SHA-256"):
        bazel_install.install(rows, "amd64")
