"""A checkpoint folder: where its files are and whether they may be used. Opens weights on demand; knows no model.

Files may be links, as in a hub cache, as long as they end inside the folder or its cache; a folder that carries a
`checkpoint.json` was already admitted, file by file with hashes, and its links may point anywhere.
"""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import Any

from trtmc.core.config import StrictConfig, read_json_object
from trtmc.core.errors import BadInput
from trtmc.core.weights import WeightFiles

CONFIG = "config.json"
ADMISSION = "checkpoint.json"


class Checkpoint:
    """A folder with config.json, safetensors weights and tokenizer files."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise BadInput("checkpoint.missing", f"{folder}: no such folder; pass the folder that holds {CONFIG}")
        check_links(self.folder)
        if not self.has(CONFIG):
            raise BadInput("checkpoint.no_config", f"{folder}: there is no {CONFIG}; pass the folder that holds it")

    def path(self, name: str) -> Path:
        """Path of one of its files, which need not exist."""
        return self.folder / name

    def has(self, name: str) -> bool:
        """True if the file exists."""
        return self.path(name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """A JSON file as an object."""
        return read_json_object(self.path(name))

    def config(self) -> StrictConfig:
        """A fresh strict reader of config.json."""
        return StrictConfig(self.json(CONFIG), str(self.path(CONFIG)))

    @property
    def model_type(self) -> str:
        """What config.json calls the architecture."""
        return self.config().string("model_type")

    @cached_property
    def weights(self) -> WeightFiles:
        """The tensors, validated; opened once."""
        return WeightFiles(self.folder)


def check_links(folder: Path) -> None:
    """Refuses dangling links, and links that leave the checkpoint, naming link and target."""
    admitted = (folder / ADMISSION).is_file()
    root = _root(folder)
    for path in sorted(folder.iterdir()):
        if not path.is_symlink():
            continue
        target = os.readlink(path)
        if not path.exists():
            raise BadInput(
                "checkpoint.dangling_link",
                f"{path}: link to '{target}', which is not there; the download looks incomplete",
            )
        if not admitted and not path.resolve().is_relative_to(root):
            raise BadInput(
                "checkpoint.foreign_link",
                f"{path}: link to '{target}', which is outside of {root}; copy the file into the folder",
            )


def _root(folder: Path) -> Path:
    """The folder itself, or the cache that a hub snapshot (`snapshots/<revision>` beside `blobs`) belongs to."""
    real = folder.resolve()
    cache = real.parent.parent
    return cache if real.parent.name == "snapshots" and (cache / "blobs").is_dir() else real
