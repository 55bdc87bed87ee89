"""Plugins are loaded from the installation only: a library with the right name anywhere else stays untouched."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e.kit.models import chain, walk_table
from tests.e2e.kit.product import built, runtime_root, trtmc

WORD = "HIJACKED-BY-A-STRANGER"
SOURCE = f"""
#include <unistd.h>
__attribute__((constructor)) static void speak(void) {{ if (write(2, "{WORD}\\n", {len(WORD) + 1})) {{}} }}
const void *trtmc_model_v1(void) {{ return 0; }}
const void *trtmc_backend_v1(void) {{ return 0; }}
"""


def plugin_names() -> list[str]:
    """Names of the libraries in the genuine installation, ours and OpenVINO's."""
    root = runtime_root()
    if root is None:
        return ["libtrtmc_model_llama.so"]
    return sorted({path.name for path in root.rglob("*.so*")})


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a talking library under every name that the product might look for."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler to make the strange library")
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "s.c").write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(folder / "s.so"), str(folder / "s.c")], check=True)
    for name in plugin_names():
        if name.startswith("libtrtmc"):
            shutil.copy(folder / "s.so", folder / name)
    return folder


def bundle_in(folder: Path) -> Path:
    chain(folder / "m", walk_table([2, 3, 4], 16))
    return built(folder / "m")


def test_dso_1_the_strange_library_can_speak(stranger: Path) -> None:
    library = next(stranger.glob("libtrtmc_*.so"))
    done = subprocess.run(
        ["/bin/ls", "/"], env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, text=True, check=False
    )
    assert WORD in done.stderr


@pytest.mark.parametrize("place", ["working_folder", "bundle_folder", "library_path"])
def test_dso_1_a_library_elsewhere_is_never_loaded(tmp_path: Path, stranger: Path, place: str) -> None:
    bundle = bundle_in(tmp_path)
    environment = {"LD_LIBRARY_PATH": str(stranger)} if place == "library_path" else {}
    if place == "bundle_folder":
        for library in stranger.glob("*.so"):
            shutil.copy(library, bundle.parent)
    cwd = stranger if place == "working_folder" else tmp_path
    done = trtmc("run", str(bundle), "--ids", "2", "-n", "2", "--json", cwd=cwd, environment=environment)
    assert WORD not in done.stderr + done.stdout
    assert done.json["ids"] == [3, 4]


def test_dso_1_only_runtime_root_changes_that(tmp_path: Path, stranger: Path) -> None:
    bundle = bundle_in(tmp_path)
    (tmp_path / "root" / "lib" / "trtmc").mkdir(parents=True)
    for folder in (tmp_path / "root" / "lib", tmp_path / "root" / "lib" / "trtmc"):
        for library in stranger.glob("libtrtmc_*.so"):
            shutil.copy(library, folder)
    done = trtmc("run", str(bundle), "--ids", "2", "--json", "--runtime-root", str(tmp_path / "root"))
    assert done.exit_code == 6
    assert str(tmp_path / "root") in done.stderr


def test_a_library_knows_its_own_name_and_no_path_of_the_build() -> None:
    """A path in a library differs between configurations, and with it the layers of images."""
    root = runtime_root()
    if root is None:
        pytest.skip("needs the C++ runtime")
    libraries = sorted((root / "lib" / "trtmc").glob("libtrtmc_*.so"))
    assert libraries
    for library in libraries:
        content = library.read_bytes()
        assert library.name.encode() + b"\0" in content
        assert b"bazel-out" not in content, library.name
