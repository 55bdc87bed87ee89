"""No library but the genuine one is ever loaded, whatever lies in the current folder, beside the bundle or on
LD_LIBRARY_PATH. The evil twins print a word as soon as they are loaded."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cc.testing.toy_root import built, copy, make_bundle, make_root

WORD = "HIJACKED"
EVIL = {
    "libtrtmc_model_toy.so": "libtrtmc_model_evil.so",
    "libtrtmc_backend_table.so": "libtrtmc_backend_evil.so",
    "libtoy_dependency.so": "libevil_dependency.so",
}


def plant(folder: Path) -> Path:
    for name, source in EVIL.items():
        copy(built(f"cc/testing/{source}"), folder / name)
        copy(built(f"cc/testing/{source}"), folder / "lib/trtmc" / name)
    return folder


def run(program: Path, bundle: Path, *arguments: object, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        [program, "run", bundle, "--ids", "0", "-n", "3", *map(str, arguments)],
        cwd=cwd,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(cwd), **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def program(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root")


def test_the_evil_twins_do_print_when_they_are_loaded(program: Path, tmp_path: Path) -> None:
    evil = plant(tmp_path / "evil")
    bundle = make_bundle(tmp_path / "toy.bundle")
    assert WORD in run(program, bundle, "--runtime-root", evil, cwd=tmp_path)


def test_current_folder_and_bundle_folder_do_not_count(program: Path, tmp_path: Path) -> None:
    evil = plant(tmp_path / "evil")
    bundle = make_bundle(evil / "toy.bundle")
    assert WORD not in run(program, bundle, cwd=evil)
    (evil / "sub").mkdir()
    assert WORD not in run(program, Path("../toy.bundle"), cwd=evil / "sub")


def test_library_path_counts_neither_for_ours_nor_for_what_they_need(program: Path, tmp_path: Path) -> None:
    evil = plant(tmp_path / "evil")
    bundle = make_bundle(tmp_path / "toy.bundle")
    for path in (evil, f"{evil}:", f"{evil}/lib/trtmc:{evil}"):
        assert WORD not in run(program, bundle, cwd=tmp_path, LD_LIBRARY_PATH=str(path))


def test_a_program_called_by_a_relative_name_or_a_link_finds_its_own_libraries(program: Path, tmp_path: Path) -> None:
    evil = plant(tmp_path / "evil")
    bundle = make_bundle(tmp_path / "toy.bundle")
    (evil / "bin").mkdir()
    (evil / "bin/trtmc").symlink_to(program)
    assert WORD not in run(Path("./bin/trtmc"), bundle, cwd=evil)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_every_library_is_opened_by_absolute_path(program: Path, tmp_path: Path) -> None:
    evil = plant(tmp_path / "evil")
    bundle = make_bundle(tmp_path / "toy.bundle")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=open,openat", "-o", trace, program, "run", bundle, "--ids", "0", "-n", "1"]
    done = subprocess.run(command, cwd=evil, env={"LD_LIBRARY_PATH": str(evil)}, capture_output=True, timeout=60)
    if done.returncode != 0 and b"ptrace" in done.stderr:
        pytest.skip("this machine forbids tracing")
    opened = re.findall(r'"([^"]*lib(?:trtmc|toy)_[^"]*\.so)"', trace.read_text())
    assert {Path(name).name for name in opened} == set(EVIL)
    for name in opened:
        assert name.startswith(f"{program.parent.parent}/lib/trtmc/"), name
