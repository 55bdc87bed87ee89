"""The command line: every command fills its folder, and errors are sentences with documented exit codes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from trtmc.checkpoints.__main__ import main


def test_tiny_then_ingest(tmp_path: Path) -> None:
    assert (
        main(["tiny", "-o", f"{tmp_path}/a", "--set", "model_type=qwen3", "--set", "tied=false", "--set", "layers=1"])
        == 0
    )
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert (config["model_type"], config["tie_word_embeddings"]) == ("qwen3", False)
    assert (
        main(["ingest", f"{tmp_path}/a", "-o", f"{tmp_path}/b", "--source", "generated", "--revision", "seed 0"]) == 0
    )
    assert json.loads((tmp_path / "b" / "checkpoint.json").read_text())["revision"] == "seed 0"
    again = ["tiny", "-o", f"{tmp_path}/c", "--set", "layers=1", "--source", "generated", "--revision", "seed 0"]
    assert main(again) == 0
    assert (tmp_path / "c" / "checkpoint.json").is_file()
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "said"),
    [
        (["tiny", "--set", "layer=1"], 2, "'layer' is no field"),
        (["tiny", "--set", "layers=x"], 2, "layers: 'x' is no int"),
        (["tiny", "--source", "generated"], 2, "go together"),
        (["gguf", "/missing.gguf"], 3, "/missing.gguf is no file"),
        (["ingest", "/missing", "--source", "s", "--revision", "r"], 3, "/missing"),
        (
            ["hub", "org/model", "--file", "a=b", "--revision", "main", "--endpoint", "http://127.0.0.1:1"],
            2,
            "no commit",
        ),
    ],
)
def test_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], exit_code: int, said: str
) -> None:
    assert main([*arguments, "-o", f"{tmp_path}/out"]) == exit_code
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert os.listdir(tmp_path) == []
