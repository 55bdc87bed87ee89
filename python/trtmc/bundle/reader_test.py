"""The reader beyond the corpus: lazy hashes, what a caller gets, and what errors look like."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tests.bundle_corpus import sample
from trtmc.bundle import read_bundle
from trtmc.core.errors import BadInput, ExitCode, TrtmcError, Unsupported


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "good.bundle"
    path.write_bytes(sample.good())
    return path


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """Its second section has a wrong byte."""
    data = bytearray(sample.good())
    data[sample.header()["sections"][-1]["offset"]] ^= 1
    path = tmp_path / "damaged.bundle"
    path.write_bytes(data)
    return path


def test_sections_and_header(good: Path) -> None:
    with read_bundle(good) as bundle:
        assert bundle.header.to_json() == sample.header()
        assert bytes(bundle.section("engines/llm.engine")) == sample.SECTIONS["engines/llm.engine"]
        view = bundle.section("text/tokenizer.json")
        assert view.readonly
        view.release()
    with pytest.raises(ValueError, match="closed"):
        bundle.section("engines/llm.engine")


def test_a_held_view_outlives_close(good: Path) -> None:
    bundle = read_bundle(good)
    view = bundle.section("text/tokenizer.json")
    bundle.close()
    assert bytes(view) == b"{}"


def test_lazy_finds_damage_at_first_use_and_full_at_once(damaged: Path) -> None:
    with read_bundle(damaged) as bundle:
        assert bytes(bundle.section("engines/llm.engine"))
        for _ in range(2):
            with pytest.raises(BadInput, match=r"text/tokenizer\.json") as caught:
                bundle.section("text/tokenizer.json")
            assert caught.value.code == "bundle.section_sha256"
            assert str(damaged) in caught.value.message
    with pytest.raises(BadInput):
        read_bundle(damaged, verify="full")


def test_threads_share_a_bundle(good: Path) -> None:
    with read_bundle(good) as bundle:
        found: list[bytes] = []
        work = [
            threading.Thread(target=lambda: found.append(bytes(bundle.section("text/tokenizer.json"))))
            for _ in range(8)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert found == [b"{}"] * 8


def test_unknown_section_lists_the_known(good: Path) -> None:
    with (
        read_bundle(good) as bundle,
        pytest.raises(BadInput, match=r"engines/llm\.engine, text/tokenizer\.json") as caught,
    ):
        bundle.section("x")
    assert caught.value.code == "bundle.no_such_section"


def test_a_newer_version_is_unsupported_not_bad(good: Path) -> None:
    good.write_bytes(sample.with_preamble(sample.good(), version=2))
    with pytest.raises(Unsupported, match="version 2, this reader knows 1") as caught:
        read_bundle(good)
    assert caught.value.exit_code is ExitCode.UNSUPPORTED


def test_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "missing", tmp_path, tmp_path / "pipe"):
        with pytest.raises(TrtmcError) as caught:
            read_bundle(path)
        assert caught.value.code == "bundle.not_found"
        assert str(path) in caught.value.message
