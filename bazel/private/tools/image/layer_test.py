"""Layers: the same bytes whoever builds them, where and in which locale; and nothing half-written when it fails."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path

import pytest

from bazel.private.tools.image import blobs, layer, main
from bazel.private.tools.image.blobs import GZIP_LEVEL
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.kit import make_layer
from bazel.private.tools.image.tarball import Kind

NAMES = ["snow ☃/файл.txt", "e\u0301", "two\nlines", "plain"]


def tree(folder: Path) -> Path:
    for name in NAMES:
        path = folder / "assets" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, "utf-8")
    return folder / "assets"


def test_oci_3_names_beyond_ascii_are_the_same_in_every_locale(tmp_path: Path) -> None:
    source = str(tree(tmp_path))
    manifest = {
        "name": "a",
        "architecture": "amd64",
        "compression": "gzip",
        "trees": [{"path": "data", "source": source}],
    }
    (tmp_path / "m.json").write_text(json.dumps(manifest), "utf-8")
    blobs = set()
    for locale in ("C", "POSIX", "de_DE.UTF-8", "C.UTF-8"):
        out = tmp_path / locale
        out.mkdir()
        words = [
            sys.executable,
            "-m",
            "bazel.private.tools.image.main",
            "layer",
            str(tmp_path / "m.json"),
            str(out / "d"),
            str(out / "b"),
        ]
        env = {
            "LC_ALL": locale,
            "LANG": locale,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
        }
        subprocess.run(words, check=True, env=env)
        blobs.add((out / "b").read_bytes())
    (blob,) = blobs
    (tmp_path / "blob").write_bytes(blob)
    found = [member.name for member in tarfile.open(tmp_path / "blob") if member.isfile()]
    assert sorted(found) == sorted("data/" + name for name in NAMES)


def test_oci_1_folder_clock_and_owner_of_the_sources_do_not_matter(tmp_path: Path) -> None:
    blobs = []
    for number, name in enumerate(("one", "two/deeper")):
        source = tree(tmp_path / name)
        for path in source.rglob("*"):
            os.utime(path, (86400 * number, 86400 * number))
            with suppress(OSError):  # not root, or root of a sandbox
                os.chown(path, 1000 * number, 1000 * number)
        make_layer(tmp_path / name, "a", trees=[{"path": "data", "source": str(source)}])
        blobs.append((tmp_path / name / "a.blob").read_bytes())
    assert blobs[0] == blobs[1]
    unpacked = gzip.decompress(blobs[0])
    assert str(tmp_path).encode() not in unpacked
    members = tarfile.open(tmp_path / "one" / "a.blob").getmembers()
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, 0, "", "")}
    assert [m.name.encode() for m in members] == sorted(m.name.encode() for m in members)


def test_the_descriptor_says_what_the_blob_is(tmp_path: Path) -> None:
    packages = ["pkg:pypi/openvino@1.2", f"pkg:deb/debian/zlib@1-1?arch=amd64&checksum=sha256:{'ab' * 32}"]
    row = make_layer(tmp_path, "a", trees=[{"path": "data", "source": str(tree(tmp_path))}], packages=packages)
    descriptor = json.loads(Path(row["descriptor"]).read_text())
    blob = Path(row["blob"]).read_bytes()
    assert descriptor["digest"] == "sha256:" + hashlib.sha256(blob).hexdigest()
    assert descriptor["size"] == len(blob)
    assert descriptor["diff_id"] == "sha256:" + hashlib.sha256(gzip.decompress(blob)).hexdigest()
    assert descriptor["packages"] == [
        {"name": "zlib", "version": "1-1", "purl": "pkg:deb/debian/zlib@1-1?arch=amd64", "sha256": "ab" * 32},
        {"name": "openvino", "version": "1.2", "purl": "pkg:pypi/openvino@1.2"},
    ]


def test_gzip_has_no_name_no_time_and_a_pinned_level(tmp_path: Path) -> None:
    row = make_layer(tmp_path, "a", symlinks={"l": "x"})
    assert Path(row["blob"]).read_bytes()[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    assert GZIP_LEVEL == 6


def test_a_layer_without_compression_writes_no_blob_and_is_its_own_diff_id(tmp_path: Path) -> None:
    row = make_layer(tmp_path, "a", compression="none", symlinks={"l": "x"})
    descriptor = json.loads(Path(row["descriptor"]).read_text())
    assert row["blob"] is None and not (tmp_path / "a.blob").exists()
    assert descriptor["digest"] == descriptor["diff_id"] and descriptor["mediaType"].endswith(".tar")


def test_oci_2_links_are_stored_and_whiteouts_written(tmp_path: Path) -> None:
    manifest = {
        "name": "a",
        "architecture": "amd64",
        "symlinks": {"link": "/opt/real", "dead": "/nowhere"},
        "removed": ["gone", "d/gone"],
    }
    entries, _ = layer.entries_of(manifest)
    assert entries[b"link"].kind is Kind.SYMLINK and entries[b"link"].link == b"/opt/real"
    assert entries[b"dead"].link == b"/nowhere"
    assert {b".wh.gone", b"d/.wh.gone"} <= set(entries)


def test_two_files_at_one_path_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="two files want to be /a"):
        layer.entries_of({"symlinks": {"a": "b"}, "directories": {"a": "0755"}})


def test_a_missing_source_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = {
        "name": "a",
        "architecture": "amd64",
        "compression": "gzip",
        "files": [{"path": "x", "source": "/nowhere/x", "mode": "0644"}],
    }
    (tmp_path / "m").write_text(json.dumps(manifest), "utf-8")
    assert main.main(["layer", str(tmp_path / "m"), str(tmp_path / "d"), str(tmp_path / "b")]) == 3
    assert "/nowhere/x" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


def test_a_disk_that_fills_leaves_nothing(tmp_path: Path) -> None:
    """A limit on file size stands in for a full disk: the write fails in the middle either way."""
    (tmp_path / "big").write_bytes(os.urandom(1 << 20))
    manifest = {
        "name": "a",
        "architecture": "amd64",
        "compression": "gzip",
        "files": [{"path": "x", "source": str(tmp_path / "big"), "mode": "0644"}],
    }
    (tmp_path / "m").write_text(json.dumps(manifest), "utf-8")
    out = tmp_path / "out"
    out.mkdir()
    words = [
        sys.executable,
        "-m",
        "bazel.private.tools.image.main",
        "layer",
        str(tmp_path / "m"),
        str(out / "d"),
        str(out / "b"),
    ]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000)),
    )
    assert done.returncode == 7, done.stderr
    assert (
        "image.write_failed" in done.stderr
        and str(out / "b") in done.stderr
        and "nothing was left behind" in done.stderr
    )
    assert list(out.iterdir()) == []


def test_a_zlib_that_compresses_otherwise_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another level stands in for another library: either gives other bytes of the same content."""
    monkeypatch.setattr(blobs, "GZIP_LEVEL", 1)
    blobs.check_zlib.cache_clear()
    try:
        with pytest.raises(ImageError, match="compresses otherwise") as caught:
            make_layer(tmp_path, "a", symlinks={"l": "x"})
    finally:
        monkeypatch.undo()
        blobs.check_zlib.cache_clear()
    assert caught.value.code == "image.zlib"
    for part in ("zlib (", "1.2.13", "HOST_PYTHON"):
        assert part in str(caught.value)
    assert not list(tmp_path.glob("*.blob")) and not list(tmp_path.glob(".*.tmp"))
