"""The patch applier is strict: it changes exactly what fits, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from cc.text.rust.build.patching import PatchError, apply, parse

OLD = "one\ntwo\nthree\nfour\n"
PATCH = """Why this patch exists.

--- a/x.txt
+++ b/x.txt
@@ -1,3 +1,4 @@
 one
-two
+TWO
+two and a half
 three
--- a/new/y.txt
+++ b/new/y.txt
@@ -0,0 +1,2 @@
+hello
+world
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "x.txt").write_text(OLD, "utf-8")
    (tmp_path / "p.patch").write_text(PATCH, "utf-8")
    return tmp_path


def test_changes_and_new_files(tree: Path) -> None:
    apply(tree / "p.patch", tree)
    assert (tree / "x.txt").read_text("utf-8") == "one\nTWO\ntwo and a half\nthree\nfour\n"
    assert (tree / "new/y.txt").read_text("utf-8") == "hello\nworld\n"


def test_a_hunk_that_does_not_fit_changes_nothing(tree: Path) -> None:
    (tree / "x.txt").write_text(OLD.replace("three", "3"), "utf-8")
    with pytest.raises(PatchError, match=r"p\.patch does not fit x\.txt at line 1"):
        apply(tree / "p.patch", tree)
    assert not (tree / "new").exists()


def test_no_fuzz(tree: Path) -> None:
    (tree / "x.txt").write_text("zero\n" + OLD, "utf-8")
    with pytest.raises(PatchError):
        apply(tree / "p.patch", tree)


@pytest.mark.parametrize("cut", ["\n three", "+two and a half"])
def test_malformed_patches(cut: str) -> None:
    with pytest.raises(PatchError):
        parse(PATCH.split(cut)[0] + "\n", "p.patch")


def test_line_shift_between_hunks(tmp_path: Path) -> None:
    lines = [str(n) for n in range(20)]
    (tmp_path / "n.txt").write_text("\n".join(lines) + "\n", "utf-8")
    text = "--- a/n.txt\n+++ b/n.txt\n@@ -2,1 +2,3 @@\n-1\n+a\n+b\n+c\n@@ -15,1 +17,1 @@\n-14\n+fourteen\n"
    (tmp_path / "q.patch").write_text(text, "utf-8")
    apply(tmp_path / "q.patch", tmp_path)
    found = (tmp_path / "n.txt").read_text("utf-8").split()
    assert found == ["0", "a", "b", "c", *lines[2:14], "fourteen", *lines[15:]]
