"""The writer: exact bytes, the same bytes again, and nothing left behind when it fails."""

from __future__ import annotations

import dataclasses
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bundle_corpus import sample
from trtmc.bundle import BundleHeader, SectionSource, read_bundle, write_bundle
from trtmc.bundle import writer as writer_module
from trtmc.core.errors import ExitCode, TrtmcError

HEADER = dataclasses.replace(BundleHeader.decode(sample.canonical(sample.header())), sections=())
SOURCES = [
    SectionSource("engines/llm.engine", "application/octet-stream", sample.SECTIONS["engines/llm.engine"]),
    SectionSource("weights/checkpoint", "application/octet-stream", sample.SECTIONS["weights/checkpoint"]),
    SectionSource("text/tokenizer.json", "application/json", sample.SECTIONS["text/tokenizer.json"]),
]


def _files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x.bundle"
    bundle_id = write_bundle(path, HEADER, SOURCES)
    assert path.read_bytes() == sample.good()
    assert bundle_id == sample.digest(sample.canonical(sample.header()))
    assert _files(tmp_path) == ["x.bundle"]


def test_files_and_bytes_give_the_same_bundle(tmp_path: Path) -> None:
    engine = tmp_path / "llm.engine"
    content = os.urandom(5 << 20)
    engine.write_bytes(content)
    from_file = dataclasses.replace(SOURCES[0], data=engine)
    from_bytes = dataclasses.replace(SOURCES[0], data=content)
    assert write_bundle(tmp_path / "a", HEADER, [from_file, *SOURCES[1:]]) == write_bundle(
        tmp_path / "b", HEADER, [from_bytes, *SOURCES[1:]]
    )
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    with read_bundle(tmp_path / "a", verify="full") as bundle:
        assert bytes(bundle.section("engines/llm.engine")) == content


@pytest.mark.parametrize("extra", range(1570, 1600))
def test_header_length_around_a_page(tmp_path: Path, extra: int) -> None:
    """Offsets are part of the header: its length and theirs settle, whatever the header's size."""
    engine = dataclasses.replace(HEADER.components[0].engines[0], options={"text": "x" * extra})
    component = dataclasses.replace(HEADER.components[0], engines=(engine,))
    write_bundle(tmp_path / "x", dataclasses.replace(HEADER, components=(component,)), SOURCES)
    read_bundle(tmp_path / "x", verify="full").close()


def test_permissions_follow_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        write_bundle(tmp_path / "x", HEADER, SOURCES)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


@pytest.mark.parametrize("earlier", [None, b"the bundle of yesterday"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "x"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("when", [1, 2, 3])
def test_a_failed_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, earlier: bytes | None, problem: BaseException, when: int
) -> None:
    path = tmp_path / "x.bundle"
    if earlier is not None:
        path.write_bytes(earlier)
    calls = iter(range(1, 100))
    original = os.pwrite

    def pwrite(file: int, data: bytes, offset: int) -> int:
        if next(calls) == when:
            raise problem
        return original(file, data, offset)

    monkeypatch.setattr(writer_module.os, "pwrite", pwrite)
    expected = TrtmcError if isinstance(problem, OSError) else type(problem)
    with pytest.raises(expected) as caught:
        write_bundle(path, HEADER, SOURCES)
    assert _files(tmp_path) == ([] if earlier is None else ["x.bundle"])
    assert earlier is None or path.read_bytes() == earlier
    if isinstance(caught.value, TrtmcError):
        assert (caught.value.code, caught.value.exit_code) == ("bundle.write_failed", ExitCode.RESOURCE)
        assert "No space left" in caught.value.message


def test_a_full_disk_shows_before_anything_is_hashed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fallocate(file: int, offset: int, length: int) -> None:
        raise OSError(errno.ENOSPC, "x")

    monkeypatch.setattr(writer_module.os, "posix_fallocate", fallocate)
    monkeypatch.setattr(writer_module.os, "pwrite", lambda *_: pytest.fail("it started to write"))
    with pytest.raises(TrtmcError, match="free some space"):
        write_bundle(tmp_path / "x", HEADER, SOURCES)
    assert _files(tmp_path) == []


def test_file_systems_without_fallocate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fallocate(file: int, offset: int, length: int) -> None:
        raise OSError(errno.EOPNOTSUPP, "x")

    monkeypatch.setattr(writer_module.os, "posix_fallocate", fallocate)
    write_bundle(tmp_path / "x", HEADER, SOURCES)
    assert (tmp_path / "x").read_bytes() == sample.good()


@pytest.mark.parametrize("size", [10, 20 << 20])
@pytest.mark.parametrize("change", [-3, 5])
def test_a_source_that_changes_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int, change: int
) -> None:
    engine = tmp_path / "llm.engine"
    engine.write_bytes(bytes(size))
    original = writer_module._write_sections

    def change_then_write(*arguments: object) -> list[str]:
        os.truncate(engine, size + change)
        return original(*arguments)

    monkeypatch.setattr(writer_module, "_write_sections", change_then_write)
    with pytest.raises(TrtmcError) as caught:
        write_bundle(tmp_path / "x", HEADER, [dataclasses.replace(SOURCES[0], data=engine), *SOURCES[1:]])
    assert caught.value.code == "bundle.source_changed"
    assert str(engine) in caught.value.message
    assert _files(tmp_path) == ["llm.engine"]


@dataclasses.dataclass(frozen=True)
class Stream:
    """Content made while it is written; `length` is what it promised."""

    parts: tuple[bytes, ...]
    length: int

    def chunks(self) -> Iterator[memoryview]:
        yield from map(memoryview, self.parts)


def test_streamed_content(tmp_path: Path) -> None:
    content = sample.SECTIONS["engines/llm.engine"]
    stream = Stream((content[:1], b"", content[1:20], content[20:]), len(content))
    write_bundle(tmp_path / "x", HEADER, [dataclasses.replace(SOURCES[0], data=stream), *SOURCES[1:]])
    assert (tmp_path / "x").read_bytes() == sample.good()


@pytest.mark.parametrize("parts", [(b"12345",), (b"1234", b"5678"), (b"1234567", b"8"), ()])
def test_a_stream_that_breaks_its_promise_is_noticed(tmp_path: Path, parts: tuple[bytes, ...]) -> None:
    with pytest.raises(TrtmcError) as caught:
        write_bundle(tmp_path / "x", HEADER, [dataclasses.replace(SOURCES[0], data=Stream(parts, 7)), *SOURCES[1:]])
    assert caught.value.code == "bundle.source_changed"
    assert _files(tmp_path) == []


@pytest.mark.parametrize(
    ("sources", "code"),
    [
        (SOURCES[:2], "missing_section"),
        ([*SOURCES, SOURCES[0]], "duplicate_section"),
        ([*SOURCES, SectionSource("../x", "text/plain", b"1")], "section_name"),
        ([*SOURCES, SectionSource("x", "text", b"1")], "bad_value"),
        ([*SOURCES, SectionSource("x", "text/plain", b"")], "bad_value"),
    ],
)
def test_what_a_reader_would_refuse_is_not_written(tmp_path: Path, sources: list[SectionSource], code: str) -> None:
    with pytest.raises(TrtmcError) as caught:
        write_bundle(tmp_path / "x", HEADER, sources)
    assert caught.value.code == f"bundle.{code}"
    assert caught.value.message.startswith(str(tmp_path / "x"))
    assert _files(tmp_path) == []


def test_missing_input_and_missing_folder_are_named(tmp_path: Path) -> None:
    lost = dataclasses.replace(SOURCES[0], data=tmp_path / "lost.engine")
    with pytest.raises(TrtmcError, match=r"lost\.engine"):
        write_bundle(tmp_path / "x", HEADER, [lost, *SOURCES[1:]])
    with pytest.raises(TrtmcError, match="No such file or directory"):
        write_bundle(tmp_path / "nowhere" / "x", HEADER, SOURCES)
    assert _files(tmp_path) == []
