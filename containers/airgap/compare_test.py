"""What a rebuild gave beside what the kit's maker got."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from containers.airgap import compare

RECORD: dict[str, Any] = {
    "name": "x:1",
    "manifest": "sha256:m",
    "config": "sha256:c",
    "layers": [{"name": "base", "digest": "sha256:b"}],
    "sbom": "sha256:s",
    "provenance": "sha256:p",
}
STATED = {
    "image": "sha256:m",
    "layer base": "sha256:b",
    "config": "sha256:c",
    "sbom": "sha256:s",
    "provenance": "sha256:p",
}
NAME = "containers/x.digests.json"


def built(folder: Path, **changes: Any) -> Path:
    """What a build left."""
    (folder / NAME).parent.mkdir(parents=True)
    (folder / NAME).write_text(json.dumps(RECORD | changes), "utf-8")
    return folder


def held(tmp_path: Path, expected: compare.Outcomes, bin_folder: Path, *options: str) -> int:
    (tmp_path / "manifest.json").write_text(json.dumps({"expected": expected}), "utf-8")
    return compare.main([str(tmp_path / "manifest.json"), str(bin_folder), *options])


def test_records_and_bundles_say_what_a_rebuild_must_give(tmp_path: Path) -> None:
    folder = built(tmp_path / "bin")
    (folder / "b.bundle").write_bytes(b"TRTMCBDL" + bytes(16) + bytes(range(32)) + bytes(9))
    assert compare.outcomes(folder, [NAME, "b.bundle"]) == {
        NAME: STATED,
        "b.bundle": {"bundle": bytes(range(32)).hex()},
    }


@pytest.mark.parametrize("content", [b"", b"TRTMCBDL", b"x" * 100])
def test_what_is_no_bundle_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "b.bundle").write_bytes(content)
    with pytest.raises(ValueError, match=r"b\.bundle is no bundle"):
        compare.outcome(tmp_path / "b.bundle")


def test_the_same_is_said_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert held(tmp_path, {NAME: STATED}, built(tmp_path / "bin")) == 0
    out = capsys.readouterr().out
    assert all(f"same as the kit's maker: {NAME}: {part} {digest}\n" in out for part, digest in STATED.items())


def test_a_difference_names_the_layer_and_both_digests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = built(tmp_path / "bin", manifest="sha256:n", layers=[{"name": "base", "digest": "sha256:z"}])
    assert held(tmp_path, {NAME: STATED}, other) == 1
    said = capsys.readouterr()
    assert f"{NAME}: layer base differs\n  expected sha256:b\n  found    sha256:z" in said.err
    assert f"{NAME}: image differs\n  expected sha256:m\n  found    sha256:n" in said.err
    assert "config" not in said.err and "config sha256:c" in said.out


def test_what_was_not_built_is_no_success(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert held(tmp_path, {NAME: STATED, "y.bundle": {"bundle": "y"}}, built(tmp_path / "bin")) == 1
    said = capsys.readouterr().err
    assert "y.bundle: bundle differs\n  expected y\n  found    nothing: it was not built" in said


def test_what_was_not_asked_for_is_no_difference_but_what_was_is_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = built(tmp_path / "bin")
    assert held(tmp_path, {NAME: STATED, "y.bundle": {"bundle": "y"}}, folder, "--partial") == 0
    assert "not compared: y.bundle was not built" in capsys.readouterr().out
    assert held(tmp_path, {NAME: STATED | {"image": "sha256:other"}}, folder, "--partial") == 1
