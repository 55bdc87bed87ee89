"""What can be said of the cargo build without cargo: it unpacks sources with every Python that the build runs on."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from third_party.rust.cargo_build import unpack


def sdist(folder: Path, name: str) -> Path:
    """An archive of one file."""
    with tarfile.open(folder / "a-1.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = 4
        archive.addfile(info, io.BytesIO(b"text"))
    return folder / "a-1.tar.gz"


def test_a_python_that_knows_no_filters_unpacks_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tarfile.TarFile.extractall

    def before_filters(self: tarfile.TarFile, path: Path, members: None = None, *, numeric_owner: bool = False) -> None:
        real(self, path, members, numeric_owner=numeric_owner)

    monkeypatch.setattr(tarfile.TarFile, "extractall", before_filters)
    monkeypatch.delattr(tarfile, "data_filter", raising=False)
    unpack(sdist(tmp_path, "a-1/src/lib.rs"), tmp_path / "out")
    assert (tmp_path / "out/a-1/src/lib.rs").read_text("utf-8") == "text"


def test_a_path_that_leaves_the_folder_is_refused_where_python_has_filters(tmp_path: Path) -> None:
    if not hasattr(tarfile, "data_filter"):
        pytest.skip("this Python knows no filters; the archive is pinned by its hash")
    with pytest.raises(tarfile.FilterError):
        unpack(sdist(tmp_path, "../outside"), tmp_path / "out")
    assert not (tmp_path / "outside").exists()
