"""The edits of third-party sources fail loudly when a source is another version."""

from __future__ import annotations

from pathlib import Path

import pytest

from cc.text.rust.build.prepare import PrepareError, main, one_folder, replaced


def test_replaced_needs_every_old_text() -> None:
    assert replaced("a b", [("a", "c")], "f") == "c b"
    with pytest.raises(PrepareError, match="f: expected to find 'x'"):
        replaced("a b", [("x", "c")], "f")


def test_one_version_of_a_crate(tmp_path: Path) -> None:
    (tmp_path / "onig-6.5.3").mkdir()
    (tmp_path / "onig_sys-69.9.3").mkdir()
    assert one_folder(tmp_path, "onig").name == "onig-6.5.3"
    (tmp_path / "onig-6.5.4").mkdir()
    with pytest.raises(PrepareError, match="expected one version of the crate onig"):
        one_folder(tmp_path, "onig")
    with pytest.raises(PrepareError, match="minijinja"):
        one_folder(tmp_path, "minijinja")


def test_missing_sources_are_an_error_without_a_traceback(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    code = main(
        ["--out", str(tmp_path / "out"), "--crate", str(empty), "--registry", str(empty), "--tokenizers", str(empty)]
    )
    assert code == 1
    assert capsys.readouterr().err.startswith("error: ")
