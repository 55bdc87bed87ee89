"""What `make lock` says about a refresh: every version that moved, and bytes that changed under an unchanged version;
and that a refresh which fails changes no lock.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tools import lock
from tools.lock import changes

SHA = "a" * 64


def deb(name: str, version: str, sha256: str = SHA) -> str:
    return f"{sha256}  {name}  {version}  amd64  trixie"


def test_versions_that_moved_came_or_went_are_named() -> None:
    old = {
        "numpy": {"version": "1"},
        "gone": {"version": "3"},
        "base": [deb("libc6", "2.41-1"), deb("zlib1g", "1:1.3")],
    }
    new = {
        "numpy": {"version": "2"},
        "fresh": {"version": "4"},
        "base": [deb("libc6", "2.41-2"), deb("zlib1g", "1:1.3")],
    }
    assert changes(old, new) == [
        "  base: libc6 2.41-1 → 2.41-2",
        "  fresh (new) → 4",
        "  gone 3 → (gone)",
        "  numpy 1 → 2",
    ]


def test_nothing_is_said_where_nothing_changed() -> None:
    assert changes({"a": {"version": "1"}}, {"a": {"version": "1"}}) == []


def test_other_bytes_under_the_same_version_stand_out() -> None:
    (line,) = changes({"base": [deb("libc6", "1")]}, {"base": [deb("libc6", "1", "b" * 64)]})
    assert "the same version, other files or other bytes" in line


DEPS = """
[python]
versions = ["3.11"]
[wheels.a]
version = "2"
why = "a test"
[sdists]
[debs.base]
suite = "trixie"
names = ["libc6", "zlib1g"]
why = "a test"
[bazel]
suite = "forky"
names = ["bazel-bootstrap"]
"""


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of an earlier day, in a folder of their own; the archives are functions of ours."""
    (tmp_path / "deps.toml").write_text(DEPS, "utf-8")
    moved = {name: dataclasses.replace(one, path=tmp_path / one.path.name) for name, one in lock.LOCKS.items()}
    monkeypatch.setattr(lock, "LOCKS", moved)
    monkeypatch.setattr(lock, "THIRD_PARTY", tmp_path)
    monkeypatch.setattr(lock, "BAZEL_LOCK", tmp_path / "bazel.debs.lock")
    old = {"wheels": {"a": {"version": "1", "deps": [], "files": {"any": ["a-1-py3-none-any.whl", SHA]}}}, "sdists": {}}
    old["debs"] = {"base": [deb("libc6", "2.41-1"), deb("zlib1g", "1:1.3")]}
    for name, entries in old.items():
        moved[name].path.write_text(moved[name].text(entries), "utf-8")
    (tmp_path / "bazel.debs.lock").write_text(deb("bazel-bootstrap", "7") + "\n", "utf-8")

    def archives(script: str, *words: str) -> str:
        if script == "pypi.py":
            return f"a-2-py3-none-any.whl {'b' * 64}\n"
        suite = words[words.index("--suite") + 1]
        if suite == "trixie":
            return deb("libc6", "2.41-2", "c" * 64) + "\n" + deb("zlib1g", "1:1.3") + "\n"
        return deb("bazel-bootstrap", "8", "d" * 64) + "\n"

    monkeypatch.setattr(lock, "run", archives)
    return tmp_path


def test_packages_that_rolled_forward_are_shown_and_written(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert lock.main([]) == 0
    said = capsys.readouterr().out
    for line in ("  a 1 → 2", "  base: libc6 2.41-1 → 2.41-2", "  bazel: bazel-bootstrap 7 → 8"):
        assert line + "\n" in said, said
    assert "zlib1g 1:1.3 →" not in said and "sdists.lock.bzl: unchanged" in said
    assert [row.split()[2] for row in lock.LOCKS["debs"].read()["base"]] == ["2.41-2", "1:1.3"]
    assert lock.LOCKS["wheels"].read()["a"]["files"] == {"any": ["a-2-py3-none-any.whl", "b" * 64]}
    capsys.readouterr()
    assert lock.main([]) == 0
    assert "→" not in capsys.readouterr().out, "a second run has nothing to move"


def test_one_entry_moves_alone(locks: Path) -> None:
    before = {path: path.read_bytes() for path in locks.iterdir()}
    assert lock.main(["--only", "debs.base"]) == 0
    assert [path.name for path in locks.iterdir() if before.get(path) != path.read_bytes()] == ["debs.lock.bzl"]


def test_a_fetch_that_fails_in_the_end_changes_no_lock(locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = lock.run

    def archives(script: str, *words: str) -> str:
        if "forky" in words:
            raise SystemExit("lock.py: debs.py failed (see above); no lock was changed")
        return answers(script, *words)

    monkeypatch.setattr(lock, "run", archives)
    before = {path: path.read_bytes() for path in locks.iterdir()}
    with pytest.raises(SystemExit, match="no lock was changed"):
        lock.main([])
    assert {path: path.read_bytes() for path in locks.iterdir()} == before


def test_an_unknown_entry_is_named(locks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        lock.main(["--only", "debs.nothing"])
    assert caught.value.code == 2 and "no debs.nothing" in capsys.readouterr().err
