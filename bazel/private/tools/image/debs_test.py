"""Packages become entries; what is not the locked file stops the build."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from bazel.private.tools.image import debs
from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.kit import make_deb


def unpacked(tmp_path: Path, **packages: dict[str, bytes]) -> debs.Unpacked:
    made = [make_deb(tmp_path, name, files) for name, files in packages.items()]
    return debs.unpack([path for path, _ in made], [line for _, line in made], "amd64")


def test_files_belong_to_root_and_documentation_stays_out(tmp_path: Path) -> None:
    files = {
        "usr/lib/liba.so": b"a",
        "usr/share/doc/a/copyright": b"c",
        "usr/share/doc/a/changelog.gz": b"x",
        "usr/share/man/man1/a.1": b"m",
    }
    entries = debs.system_files(unpacked(tmp_path, a=files))
    assert {b"usr/lib/liba.so", b"usr/share/doc/a/copyright"} <= set(entries)
    assert not {b"usr/share/doc/a/changelog.gz", b"usr/share/man/man1/a.1"} & set(entries)
    assert {entry.uid for name, entry in entries.items() if name != b"home/nonroot"} == {0}


def test_folders_of_the_merged_usr_are_links_whatever_the_packages_call_them(tmp_path: Path) -> None:
    files = {"bin/sh": b"s", "lib/x86_64-linux-gnu/liba.so": b"a", "usr/bin/tool": b"t", "library/x": b"x"}
    entries = unpacked(tmp_path, a=files).entries
    assert {name: entry.link for name, entry in entries.items() if entry.link} == {
        b"bin": b"usr/bin",
        b"lib": b"usr/lib",
    }
    assert {b"usr/bin/sh", b"usr/lib/x86_64-linux-gnu/liba.so", b"usr/bin/tool", b"library/x"} <= set(entries)


def test_certificates_become_one_bundle_in_order(tmp_path: Path) -> None:
    folder = "usr/share/ca-certificates/mozilla/"
    entries = debs.system_files(unpacked(tmp_path, ca={folder + "b.crt": b"B\n", folder + "a.crt": b"A\n"}))
    assert entries[b"etc/ssl/certs/ca-certificates.crt"].content == b"A\nB\n"
    assert not [name for name in entries if name.endswith(b".crt") and name.startswith(b"usr/")]


def test_the_status_file_is_what_dpkg_itself_reads(tmp_path: Path) -> None:
    if not shutil.which("dpkg-query"):
        pytest.skip("not run here: no dpkg-query")
    status = debs.status(unpacked(tmp_path, b={"x": b""}, a={"y": b""}).packages)
    (tmp_path / "db").mkdir()
    (tmp_path / "db" / "status").write_bytes(status)
    form = "--showformat=${Package} ${Version} ${Architecture} ${db:Status-Status}\n"
    found = subprocess.run(
        ["dpkg-query", f"--admindir={tmp_path}/db", "-W", form], capture_output=True, text=True, check=True
    )
    assert found.stdout == "a 1-1 amd64 installed\nb 1-1 amd64 installed\n"


def test_a_wrong_hash_names_the_file_and_both_hashes(tmp_path: Path) -> None:
    path, line = make_deb(tmp_path, "a", {"f": b""})
    wrong = "0" * 64 + line[64:]
    with pytest.raises(ImageError, match=r"a_1-1_amd64\.deb: wrong SHA-256") as caught:
        debs.unpack([path], [wrong], "amd64")
    assert line[:64] in str(caught.value) and "0" * 64 in str(caught.value) and "make lock" in str(caught.value)


def test_a_package_for_another_architecture_is_refused(tmp_path: Path) -> None:
    path, line = make_deb(tmp_path, "a", {"f": b""}, arch="arm64")
    with pytest.raises(ImageError, match="is for arm64, the image for amd64") as caught:
        debs.unpack([path], [line], "amd64")
    assert caught.value.code == "image.wrong_architecture"


def test_files_and_lock_must_be_the_same_set(tmp_path: Path) -> None:
    path, line = make_deb(tmp_path, "a", {"f": b""})
    with pytest.raises(ImageError, match=r"missing \['b_1-1_amd64.deb'\], not in the lock \[\]"):
        debs.unpack([path], [line, line.replace("  a  ", "  b  ")], "amd64")


@pytest.mark.parametrize(("cut", "reason"), [(4, "does not begin"), (200, "ends within a member")])
def test_a_damaged_package_is_named(tmp_path: Path, cut: int, reason: str) -> None:
    import hashlib

    path, _ = make_deb(tmp_path, "a", {"f": b"x" * 5000})
    path.write_bytes(path.read_bytes()[:cut])
    line = f"{hashlib.sha256(path.read_bytes()).hexdigest()}  a  1-1  amd64  trixie"
    with pytest.raises(ImageError, match=reason):
        debs.unpack([path], [line], "amd64")
