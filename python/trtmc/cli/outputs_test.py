"""Outputs that would destroy something are refused before anything is written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from trtmc.cli.outputs import check_outputs
from trtmc.core.errors import UsageError


def refused(outputs: list[Path], inputs: list[Path]) -> str:
    with pytest.raises(UsageError) as caught:
        check_outputs(outputs, inputs)
    return caught.value.code


def test_new_files_and_older_outputs_are_fine(tmp_path: Path) -> None:
    (tmp_path / "old.bundle").write_text("x")
    (tmp_path / "model").mkdir()
    check_outputs([tmp_path / "old.bundle", None, tmp_path / "new.json"], [tmp_path / "model", tmp_path / "absent"])
    check_outputs([tmp_path / "model" / "new.bundle"], [tmp_path / "model"])


def test_files_of_a_checkpoint_are_not_replaced(tmp_path: Path) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (tmp_path / "link.json").symlink_to(model / "config.json")
    os.link(model / "config.json", tmp_path / "hard.json")
    assert refused([model / "config.json"], [model]) == "output.is_input"
    assert refused([tmp_path / "model" / ".." / "model" / "config.json"], [model]) == "output.is_input"
    assert refused([tmp_path / "link.json"], [model]) == "output.is_input"
    assert refused([tmp_path / "hard.json"], [model / "config.json"]) == "output.is_input"


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refused([tmp_path / "pipe"], []) == "output.is_no_file"
    assert refused([Path("/dev/null")], []) == "output.is_no_file"
    assert refused([tmp_path], []) == "output.is_folder"
    assert refused([tmp_path / "absent" / "x"], []) == "output.folder"


def test_links_are_not_replaced_wherever_they_lead(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for name, target in (("to_file", "file"), ("to_nothing", "absent"), ("to_itself", "to_itself")):
        (tmp_path / name).symlink_to(target)
        assert refused([tmp_path / name], []) == "output.is_link"


def test_two_outputs_of_one_name(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    same = tmp_path / "folder" / ".." / "x.bundle"
    assert refused([tmp_path / "x.bundle", same], []) == "output.same"
