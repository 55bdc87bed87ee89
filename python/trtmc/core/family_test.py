"""Finding families by their MODEL.toml, and what a broken one says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from trtmc.core import family
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput, InternalError, Unsupported, UsageError
from trtmc.testing import tiny_llama

GOOD = 'name = "{0}"\nmodel_types = ["{1}"]\ntask = "t"\nruntime_strategy = "s"\ncomponents = ["llm"]\n'


@pytest.fixture
def empty_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An import path whose only families are those that the test writes."""
    root = tmp_path / "families"
    root.mkdir()
    for name in [n for n in sys.modules if n == "families" or n.startswith("families.")]:
        monkeypatch.delitem(sys.modules, name)
    kept = [p for p in sys.path if not (Path(p or ".") / "families").is_dir()]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *kept])
    return root


def write(root: Path, name: str, toml: str, code: str = "") -> None:
    (root / name).mkdir()
    (root / name / "MODEL.toml").write_text(toml)
    (root / name / "__init__.py").write_text(code)


def test_scan(empty_world: Path) -> None:
    write(empty_world, "b", GOOD.format("b", "type_b"))
    write(empty_world, "a", GOOD.format("a", "type_a"))
    (empty_world / "notes").mkdir()
    assert list(family.manifests()) == ["a", "b"]
    with pytest.raises(UsageError, match="there is no family 'c'; known are a, b"):
        family.load("c")
    with pytest.raises(InternalError, match=r"package families\.a must export FAMILY"):
        family.load("a")


def test_no_family_at_all(empty_world: Path, tmp_path: Path) -> None:
    model = Checkpoint(tiny_llama().write(tmp_path / "model"))
    with pytest.raises(Unsupported, match="implemented are none"):
        family.for_checkpoint(model)


def test_two_owners(empty_world: Path, tmp_path: Path) -> None:
    write(empty_world, "a", GOOD.format("a", "llama"))
    write(empty_world, "b", GOOD.format("b", "llama"))
    with pytest.raises(InternalError, match="claimed by a, b"):
        family.for_checkpoint(Checkpoint(tiny_llama().write(tmp_path / "model")))


@pytest.mark.parametrize(
    ("toml", "error", "piece"),
    [
        ("name = ", BadInput, "cannot be read"),
        (GOOD.format("other", "x"), BadInput, "'name' is 'other', but the folder is 'a'"),
        (GOOD.format("a", "x") + "extra = 1\n", Unsupported, "unknown key 'extra'"),
        ('name = "a"\n', BadInput, "'model_types' is missing"),
    ],
)
def test_broken_manifest(empty_world: Path, toml: str, error: type[Exception], piece: str) -> None:
    write(empty_world, "a", toml)
    with pytest.raises(error) as caught:
        family.manifests()
    assert piece in str(caught.value)


def test_unknown_component() -> None:
    with pytest.raises(UsageError, match="family 'llama' has no component 'visual'; it has llm"):
        family.load("llama").component("visual")
