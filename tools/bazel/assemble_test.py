"""What packages lack stops the assembly; the rest needs real packages (tests/images)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.bazel import assemble


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    return root


def test_without_a_c_library_it_says_which_package_is_missing(tmp_path: Path) -> None:
    with pytest.raises(assemble.AssembleError, match=r"no ld-linux-x86-64.so.2; is libc6 among them"):
        assemble.assemble(tree(tmp_path, "usr/bin/bazel"), "/opt/bazel")


def test_without_java_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path, "usr/lib64/ld-linux-x86-64.so.2")
    assert assemble.main(str(root), "/opt/bazel") == 3
    assert "no Java runtime under usr/lib/jvm" in capsys.readouterr().err


def test_a_patchelf_that_fails_is_named_with_its_own_words(tmp_path: Path) -> None:
    loader = tmp_path / "usr/lib64/ld-linux-x86-64.so.2"
    tree(tmp_path, loader.relative_to(tmp_path).as_posix(), "usr/bin/bazel", "usr/libexec/x86_64-linux-gnu/bazel/x")
    tree(tmp_path, "usr/lib/jvm/java-25-openjdk-amd64/bin/java")
    loader.write_text("#!/bin/sh\necho not an ELF executable >&2\nexit 1\n", "utf-8")
    loader.chmod(0o755)
    with pytest.raises(assemble.AssembleError, match=r"patchelf cannot change .*usr/bin/bazel: not an ELF executable"):
        assemble.assemble(tmp_path, "/opt/bazel")


def test_links_into_etc_lead_into_the_final_folder(tmp_path: Path) -> None:
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "conf").symlink_to("/etc/java-25-openjdk/x")
    (tmp_path / "java" / "near").symlink_to("conf")
    assemble._move_links(tmp_path / "java", "/opt/b")
    assert (tmp_path / "java" / "conf").readlink() == Path("/opt/b/etc/java-25-openjdk/x")
    assert (tmp_path / "java" / "near").readlink() == Path("conf")


def test_the_wrapper_reads_no_configuration_but_the_install_s_own() -> None:
    assert (
        assemble.wrapper("/opt/b").splitlines()[1]
        == 'exec /opt/b/usr/bin/bazel --nosystem_rc --bazelrc=/opt/b/bazelrc "$@"'
    )
