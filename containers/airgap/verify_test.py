"""What the kit's own check says of a kit that lost a file, or has one changed, added or replaced by a link, or whose
manifest was changed; and that it touches nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from containers.airgap import kit, verify

AT = "files/content_addressable/sha256/aa/file"


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A kit of two files."""
    folder = tmp_path / "kit"
    (folder / AT).parent.mkdir(parents=True)
    (folder / AT).write_bytes(b"content")
    (folder / "source.tar").write_bytes(b"source")
    kit.seal(folder, kit.manifest(folder, {AT: "a-1.whl (a==1)"}, {"x": {"image": "sha256:1"}}, "3.11"))
    return folder


def said(folder: Path, capsys: pytest.CaptureFixture[str], *told: str) -> str:
    """What the check says of a kit that it must refuse."""
    before = sorted(folder.rglob("*"))
    assert verify.main([str(folder), *told]) == 3
    assert sorted(folder.rglob("*")) == before
    return capsys.readouterr().err


def rewrite(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """A manifest that someone changed together with its hash."""
    content = json.loads((folder / "manifest.json").read_text("utf-8"))
    change(content)
    kit.seal(folder, content)


def test_a_whole_kit_passes_and_its_manifest_is_named(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sha256 = hashlib.sha256((whole / "manifest.json").read_bytes()).hexdigest()
    assert verify.main([str(whole)]) == verify.main([str(whole), sha256]) == 0
    assert capsys.readouterr().out == f"the kit is whole; its manifest is {sha256}\n" * 2


def test_the_seal_is_what_sha256sum_reads(whole: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--status", verify.SEAL], cwd=whole, check=True)


def test_a_missing_file_is_named(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (whole / AT).unlink()
    assert f"missing  a-1.whl (a==1)  ({AT})" in said(whole, capsys)


def test_an_altered_file_is_named_with_both_hashes(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (whole / AT).write_bytes(b"CONTENT")
    text = said(whole, capsys)
    assert "altered  a-1.whl (a==1)" in text
    for content in (b"content", b"CONTENT"):
        assert hashlib.sha256(content).hexdigest() in text


def test_a_file_that_was_cut_is_named_with_both_sizes(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (whole / AT).write_bytes(b"cont")
    assert f"altered  a-1.whl (a==1)  ({AT}): expected 7 bytes, found 4" in said(whole, capsys)


@pytest.mark.parametrize("place", ["planted.sh", "files/deep/er/planted", "hashlib.py"])
def test_a_file_that_the_manifest_does_not_know_is_named(
    whole: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (whole / place).parent.mkdir(parents=True, exist_ok=True)
    (whole / place).write_text("", "utf-8")
    assert f"unknown  {place}: not in the manifest" in said(whole, capsys)


def test_a_link_in_a_file_s_place_is_named_though_its_content_is_right(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (whole / AT).rename(tmp_path / "elsewhere")
    (whole / AT).symlink_to(tmp_path / "elsewhere")
    assert f"no file  a-1.whl (a==1)  ({AT}): {AT} is a link to {tmp_path}/elsewhere" in said(whole, capsys)


def test_a_linked_folder_is_named_though_its_content_is_right(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (whole / "files").rename(tmp_path / "elsewhere")
    (whole / "files").symlink_to(tmp_path / "elsewhere")
    assert f"no file  a-1.whl (a==1)  ({AT}): files is a link to {tmp_path}/elsewhere" in said(whole, capsys)


def test_more_links_and_pipes_are_named(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (whole / "link").symlink_to("/etc/passwd")
    os.mkfifo(whole / "pipe")
    text = said(whole, capsys)
    assert "unknown  link: a link to /etc/passwd" in text and "unknown  pipe: neither file nor folder" in text


@pytest.mark.parametrize("place", ["../outside", "files/../../outside", "/etc/passwd", "a//b", "./a", "", "a\\b"])
def test_a_path_that_leaves_the_kit_is_refused(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
) -> None:
    (tmp_path / "outside").write_bytes(b"content")
    rewrite(whole, lambda content: content["files"][0].update(path=place))
    assert f"'{place}' leaves the kit" in said(whole, capsys)


def test_a_manifest_that_was_changed_is_named(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = whole / "manifest.json"
    sealed = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_text(path.read_text("utf-8").replace("sha256:1", "sha256:2"), "utf-8")
    text = said(whole, capsys)
    assert "altered  manifest.json: it was changed" in text and f"expected {sealed} ({verify.SEAL})" in text


def test_a_manifest_that_was_rewritten_with_its_hash_is_found_by_what_one_was_told(
    whole: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = hashlib.sha256((whole / "manifest.json").read_bytes()).hexdigest()
    rewrite(whole, lambda content: content["expected"].update(x={"image": "sha256:2"}))
    assert verify.main([str(whole)]) == 0
    capsys.readouterr()
    assert f"expected {told} (what you were told)" in said(whole, capsys, told)


@pytest.mark.parametrize("name", ["manifest.json", verify.SEAL])
def test_a_kit_without_manifest_or_seal_is_refused(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (whole / name).rename(tmp_path / "away")
    assert f"{name} is missing" in said(whole, capsys)
    (whole / name).symlink_to(tmp_path / "away")
    assert f"{name} is missing or no file" in said(whole, capsys)


def drop(*keys: str) -> Callable[[dict[str, Any]], None]:
    """Takes a field away."""

    def change(content: dict[str, Any]) -> None:
        row = content["files"][0] if len(keys) > 1 else content
        del row[keys[-1]]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (drop("version"), "its version is None"),
        (lambda content: content.update(version=1), "its version is 1; this program reads 2"),
        (drop("python"), "no usable 'python'"),
        (drop("expected"), "'expected' is no object"),
        (lambda content: content.update(expected={"x": 1}), "'x' in 'expected' is no object"),
        (lambda content: content.update(expected={"x": {"image": 1}}), "something that is no digest"),
        (lambda content: content.update(expected={"../x": {}}), "'../x' leaves the kit"),
        (drop("files"), "lists no files"),
        (lambda content: content.update(files=[]), "lists no files"),
        (lambda content: content.update(files=[7]), "is no object"),
        (drop("files", "size"), "no usable 'size'"),
        (drop("files", "path"), "no usable 'path'"),
        (lambda content: content["files"][0].update(sha256="A" * 64), "is no SHA-256"),
        (lambda content: content["files"].append(dict(content["files"][0])), "is listed twice"),
    ],
)
def test_a_broken_manifest_says_what_is_wrong_with_it(
    whole: Path, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    rewrite(whole, change)
    text = said(whole, capsys)
    assert "altered  manifest.json: " in text and reason in text


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_a_manifest_that_is_no_object_is_an_error(whole: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    (whole / "manifest.json").write_text(text, "utf-8")
    sha256 = verify.sha256_of(whole / "manifest.json")
    (whole / verify.SEAL).write_text(f"{sha256}  manifest.json\n", "utf-8")
    assert "altered  manifest.json: " in said(whole, capsys)


def test_a_module_planted_in_the_kit_is_named_and_not_run(whole: Path) -> None:
    (whole / "verify.py").write_bytes(Path(verify.__file__).read_bytes())
    (whole / "json.py").write_text("raise SystemExit(0)\n", "utf-8")
    done = subprocess.run(
        [sys.executable, "-IB", whole / "verify.py", whole], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3 and "unknown  json.py" in done.stderr
