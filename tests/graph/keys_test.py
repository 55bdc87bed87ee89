"""What is in an action's key and what is not: compiler and C library by content; no compiled Python, nothing of the
machine's environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.harness import Checkout, checkout, sha256

BUNDLE = "//bazel/private/testdata:bundle"
CPP = "//cc/sampling:sampling"


def other_file(path: str, scratch: Path) -> Path:
    """A file that works as the original does and is like no other: an ELF file with random bytes at its end, so that
    no earlier run has left anything in a cache for it.
    """
    copy = scratch / Path(path).name
    shutil.copy2(path, copy)
    with open(copy, "ab") as handle:
        handle.write(os.urandom(16))
    return copy


def told(*words: str) -> str:
    return os.path.realpath(subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip())


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A second checkout, unpacked once for all tests here."""
    with checkout(tmp_path_factory.mktemp("keys"), "other") as here:
        yield here


@pytest.fixture
def other(others: Checkout) -> Iterator[Checkout]:
    """Another machine's checkout: nothing is built in it, and its server has yet to start, where a test says."""
    yield others
    others.bazel("clean")
    others.bazel("shutdown")
    others.prefix = ()


@pytest.mark.parametrize("what", ["compiler", "cc1plus", "libc"])
def test_bld_2_machines_that_differ_behind_the_same_paths_share_no_cpp(
    tree: Checkout, other: Checkout, tmp_path: Path, what: str
) -> None:
    if os.getuid() != 0 or not shutil.which("unshare"):
        pytest.skip("not run here: another file at the same path needs a mount namespace")
    gcc = os.path.realpath(str(shutil.which("gcc")))
    place = {
        "compiler": gcc,
        "cc1plus": told(gcc, "-print-prog-name=cc1plus"),
        "libc": told(gcc, "-print-file-name=libc.so.6"),
    }[what]
    tree.build(CPP, BUNDLE)
    # A server sees the file system as it was when it started.
    words = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"')
    other.prefix = (*words, str(other_file(place, tmp_path)), place)
    result = other.build(CPP, BUNDLE)
    assert [spawn for spawn in result.spawns if spawn.mnemonic == "CppCompile" and spawn.cached] == []
    assert result.executed("CppCompile"), "nothing was compiled"
    assert [spawn for spawn in result.spawns if spawn.mnemonic == "TrtmcEngine"], "the cache was not asked"
    assert result.executed("TrtmcEngine") == result.executed("TrtmcBundle") == []
    assert [sha256(path) for path in other.files(BUNDLE)] == [sha256(path) for path in tree.files(BUNDLE)]


def test_bld_3_compiled_python_files_are_no_inputs(tree: Checkout) -> None:
    tree.build(BUNDLE)
    external = [str(path) for path in (tree.output_base / "external").glob("*wheel_numpy")]
    compiled = [
        sys.executable,
        "-m",
        "compileall",
        "-q",
        str(tree.folder / "python"),
        str(tree.folder / "bazel"),
        *external,
    ]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(compiled, check=False, env=environment, capture_output=True)
    assert list(tree.folder.rglob("*.pyc")), "nothing was compiled"
    try:
        tree.bazel("clean")
        result = tree.build(BUNDLE)
        assert result.spawns and result.executed() == [], "keys changed"
        log = tree.output_base.parent / f"{tree.output_base.name}.spawns.json"
        assert ".pyc" not in log.read_text("utf-8")
    finally:
        for path in tree.folder.rglob("__pycache__"):
            shutil.rmtree(path, ignore_errors=True)


def strange_environment(scratch: Path) -> dict[str, str]:
    """Another machine's environment. The libz in it has no symbols: whoever loads it fails."""
    (scratch / "lib").mkdir()
    words = ["gcc", "-shared", "-x", "c", os.devnull, "-o", str(scratch / "lib" / "libz.so.1"), "-Wl,-soname,libz.so.1"]
    subprocess.run(words, check=True)
    (scratch / "tmp").mkdir()
    return {
        "PATH": f"{scratch}/bin:{os.environ['PATH']}:{scratch}/more",
        "TMPDIR": str(scratch / "tmp"),
        "LD_LIBRARY_PATH": str(scratch / "lib"),
        "TZ": "Pacific/Kiritimati",
        "LC_ALL": "de_DE.UTF-8",
        "HOSTNAME": "elsewhere-host",
    }


def test_bld_4_the_machine_s_environment_reaches_no_action(tree: Checkout, other: Checkout, tmp_path: Path) -> None:
    tree.build(BUNDLE, CPP)
    if os.getuid() == 0 and shutil.which("unshare"):
        other.prefix = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere-host && exec "$@"', "sh")
    environment = strange_environment(tmp_path)
    first = other.build(BUNDLE, CPP, env=environment)
    assert first.spawns and first.executed() == [], "keys differ"
    other.bazel("clean", env=environment)
    again = other.build("--disk_cache=", "--stamp", BUNDLE, env=environment)
    assert again.executed("TrtmcEngine") and again.executed("TrtmcBundle")
    (mine,), (theirs,) = tree.files(BUNDLE), other.files(BUNDLE)
    assert sha256(mine) == sha256(theirs)
    content = theirs.read_bytes()
    for word in ("elsewhere-host", os.uname().nodename, str(tmp_path), str(other.output_base)):
        assert len(word) < 6 or word.encode() not in content, word  # a shorter one is there by chance
