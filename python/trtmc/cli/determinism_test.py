"""The same checkpoint gives the same bundle bytes, whatever the process, its environment and the folder are."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from trtmc.testing import Tiny, tiny_llama, tiny_qwen3

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C"},
    {"PYTHONHASHSEED": "1", "TZ": "Pacific/Kiritimati", "LC_ALL": "POSIX", "HOSTNAME": "elsewhere", "USER": "nobody"},
    {"PYTHONHASHSEED": "random", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "LANG": "de_DE.UTF-8"},
)


def build(folder: Path, output: Path, environment: dict[str, str], precision: str) -> bytes:
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    command = [sys.executable, "-m", "trtmc.cli", folder.name, "-o", str(output), "-q", "--precision", precision]
    settings = {**os.environ, "PYTHONPATH": paths, **environment}
    done = subprocess.run(command, cwd=folder.parent, env=settings, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output.read_bytes()


@pytest.mark.parametrize(
    ("model", "stored", "precision"), [(tiny_llama(), "F32", "fp32"), (tiny_qwen3(dtype="bfloat16"), "BF16", "fp16")]
)
def test_same_bytes(tmp_path: Path, model: Tiny, stored: str, precision: str) -> None:
    bundles = []
    for number, environment in enumerate(ENVIRONMENTS):
        place = tmp_path / f"place {number}" / ("deeper/" * number)
        folder = model.write(place / f"model{number}", dtype=stored)
        bundles.append(build(folder, tmp_path / f"{number}.bundle", environment, precision))
    assert bundles[0] == bundles[1] == bundles[2]
    for word in (b"place 0", b"elsewhere", str(tmp_path).encode()):
        assert word not in bundles[0]


def test_links_of_a_hub_cache_give_the_same_bytes(tmp_path: Path) -> None:
    plain = tiny_llama().write(tmp_path / "plain")
    blobs, snapshot = tmp_path / "cache" / "blobs", tmp_path / "cache" / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for path in plain.iterdir():
        shutil.copyfile(path, blobs / f"blob of {path.name}")
        (snapshot / path.name).symlink_to(f"../../blobs/blob of {path.name}")
    first = build(plain, tmp_path / "a.bundle", ENVIRONMENTS[0], "auto")
    assert first == build(snapshot, tmp_path / "b.bundle", ENVIRONMENTS[1], "auto")
