"""The tar writer: bytes that depend on the entries alone, read back by Python's own reader."""

from __future__ import annotations

import errno
import io
import os
import tarfile
from pathlib import Path

import pytest

from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.tarball import Entry, FileSink, Stream, directory, file, pax_record, symlink, write_tar


def tar_of(entries: dict[bytes, Entry]) -> bytes:
    out = io.BytesIO()
    write_tar(entries, out)
    return out.getvalue()


def members(entries: dict[bytes, Entry]) -> list[tarfile.TarInfo]:
    return tarfile.open(fileobj=io.BytesIO(tar_of(entries))).getmembers()


def test_header_is_ustar_byte_for_byte() -> None:
    block = tar_of({b"a": file(b"hello", 0o755)})
    assert block[:100] == b"a".ljust(100, b"\0")
    assert block[100:156] == b"0000755\x000000000\x000000000\x0000000000005\x0000000000000\x00" + block[148:156]
    assert int(block[148:154], 8) == sum(block[:148]) + 8 * 32 + sum(block[156:512])
    assert block[156:157] == b"0" and block[257:265] == b"ustar\x0000"
    assert block[265:329] == bytes(64), "names of user and group"
    assert block[512:1024] == b"hello".ljust(512, b"\0")
    assert block[1024:] == bytes(1024)


def test_entries_are_sorted_and_folders_above_them_are_added() -> None:
    found = members({b"b/c/d": file(b""), b"a": symlink(b"/nowhere"), b"b-": file(b"x")})
    assert [member.name for member in found] == ["a", "b", "b-", "b/c", "b/c/d"]
    assert [member.mode for member in found] == [0o777, 0o755, 0o644, 0o755, 0o644]
    assert found[0].linkname == "/nowhere"
    assert {(member.mtime, member.uid, member.gid, member.uname, member.gname) for member in found} == {
        (0, 0, 0, "", "")
    }


@pytest.mark.parametrize(
    "name", ["п" * 80, "e\u0301 \u00e9", "snow ☃/файл.txt", "two\nlines", "x" * 240, "d/" * 90 + "f"]
)
def test_names_that_ustar_cannot_say_are_kept_byte_for_byte(name: str) -> None:
    found = members({name.encode(): file(b"content")})
    assert found[-1].name == name and found[-1].size == 7


def test_long_link_targets_are_kept() -> None:
    target = "/déjà/" + "v" * 200
    assert members({b"l": symlink(target.encode())})[0].linkname == target


def test_a_size_beyond_ustar_stands_in_a_pax_record() -> None:
    """9 GiB, written to a sink that only counts; the header that a reader sees first is checked."""

    class Head:
        data = b""
        size = 0

        def write(self, data: bytes) -> None:
            self.data += data if len(self.data) < 2048 else b""
            self.size += len(data)

    chunk = bytes(1 << 26)
    sink = Head()
    write_tar({b"big": file(Stream(9 << 30, lambda out: [out.write(chunk) for _ in range(9 << 4)] and None))}, sink)
    assert pax_record("size", b"%d" % (9 << 30)) in sink.data
    assert sink.size == 512 * 3 + (9 << 30) + 1024


@pytest.mark.parametrize("name", [b"/abs", b"a/../b", b"./a", b"a//b", b"", b"nul\0"])
def test_a_path_that_leaves_the_image_is_refused(name: bytes) -> None:
    with pytest.raises(ImageError, match="no path inside an image") as caught:
        tar_of({name: file(b"")})
    assert caught.value.code == "image.bad_path"


def test_a_name_that_is_not_utf8_is_refused_by_name() -> None:
    with pytest.raises(ImageError, match=r"b'\\xff' is not UTF-8"):
        tar_of({b"\xff": file(b"")})


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="10 bytes became 3"):
        tar_of({b"a": file(Stream(10, lambda out: out.write(b"abc") and None))})


def test_modes_of_folders_are_kept() -> None:
    assert members({b"tmp": directory(0o1777)})[0].mode == 0o1777


@pytest.mark.parametrize(
    ("value", "record"),
    [
        (b"v", b"6 k=v\n"),
        (b"1234", b"9 k=1234\n"),
        (b"12345", b"11 k=12345\n"),
        (b"1" * 94, b"101 k=" + b"1" * 94 + b"\n"),
    ],
)
def test_a_pax_record_counts_its_own_length(value: bytes, record: bytes) -> None:
    assert pax_record("k", value) == record and len(record) == int(record.split(b" ")[0])


def refusing(*_: object) -> int:
    raise OSError(errno.EXDEV, "another file system")


@pytest.mark.parametrize("kernel_copies", [True, False])
def test_a_file_gets_the_same_bytes_as_any_sink(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kernel_copies: bool
) -> None:
    if not kernel_copies:
        monkeypatch.setattr(os, "copy_file_range", refusing)
    source = tmp_path / "source"
    source.write_bytes(os.urandom(3_000_001))
    inner = {b"x/data": file(source), b"y": file(b"text")}
    size = len(tar_of(inner))
    entries = {b"a": file(b"1"), b"inner": file(Stream(size, lambda sink: write_tar(inner, sink))), b"z": file(source)}
    with open(tmp_path / "out", "wb") as handle:
        write_tar(entries, FileSink(handle))
    assert (tmp_path / "out").read_bytes() == tar_of(entries)


def test_a_disk_that_is_full_is_no_reason_to_try_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "copy_file_range", full)
    (tmp_path / "source").write_bytes(b"x")
    with open(tmp_path / "out", "wb") as handle, pytest.raises(OSError, match="no space"):
        write_tar({b"a": file(tmp_path / "source")}, FileSink(handle))


def test_a_file_that_shrinks_while_the_kernel_copies_is_noticed(tmp_path: Path) -> None:
    class Liar(type(Path())):  # type: ignore[misc]
        def stat(self, **_: object) -> object:
            return type("Stat", (), {"st_size": 10})

    (tmp_path / "source").write_bytes(b"12345")
    with open(tmp_path / "out", "wb") as handle, pytest.raises(ImageError, match="10 bytes became 5"):
        write_tar({b"a": file(Liar(tmp_path / "source"))}, FileSink(handle))
