"""What `make lock` says about a refresh: every version that moved, and bytes that changed under an unchanged
version.
"""

from __future__ import annotations

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
