"""A fingerprint sees every change of content and no change of form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from trtmc.e2e.fingerprint import config_sha256, weights_sha256
from trtmc.e2e.tiny import write_safetensors

VALUES = {"b": np.arange(6, dtype=np.float32).reshape(2, 3), "a": np.ones(3, np.float32)}


def folder(path: Path, *files: dict[str, np.ndarray], dtype: str = "float32") -> Path:
    path.mkdir()
    for index, values in enumerate(files):
        write_safetensors(path / f"model-{index}.safetensors", values, dtype)
    return path


def test_order_and_shards_do_not_matter(tmp_path: Path) -> None:
    one = weights_sha256(folder(tmp_path / "one", VALUES))
    reordered = weights_sha256(folder(tmp_path / "reordered", dict(reversed(VALUES.items()))))
    sharded = weights_sha256(folder(tmp_path / "sharded", {"a": VALUES["a"]}, {"b": VALUES["b"]}))
    assert one == reordered == sharded


def test_values_names_shapes_and_types_matter(tmp_path: Path) -> None:
    variants = [
        folder(tmp_path / "0", VALUES),
        folder(tmp_path / "1", {**VALUES, "a": np.array([1, 1, 2], np.float32)}),
        folder(tmp_path / "2", {"c": VALUES["b"], "a": VALUES["a"]}),
        folder(tmp_path / "3", {**VALUES, "b": VALUES["b"].reshape(3, 2)}),
        folder(tmp_path / "4", VALUES, dtype="float16"),
    ]
    assert len({weights_sha256(path) for path in variants}) == len(variants)


def test_config_by_meaning(tmp_path: Path) -> None:
    for name, text in (("a", '{"x": 1, "y": 2}'), ("b", '{ "y":2,"x":1 }'), ("c", '{"x": 1, "y": 3}')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    first, same, other = (config_sha256(tmp_path / name) for name in "abc")
    assert first == same != other
    assert json.loads((tmp_path / "a" / "config.json").read_text())["x"] == 1
