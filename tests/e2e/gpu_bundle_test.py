"""A bundle for sm_89 as users build it, on a machine that cannot run it: what `trtmc` says, and what it still does."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

BUNDLE = os.environ["TRTMC_SM_89_BUNDLE"]
TRTMC = next(path for path in os.environ["TRTMC_RUNTIME_ROOT"].split() if path.endswith("bin/trtmc"))
FAKE_DRIVER = Path("cc/gpu/libfake_cuda.so").absolute()
NEEDS = "target sm_89 needs an NVIDIA GPU of compute capability 8.9; "


def run(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TRTMC, *arguments], capture_output=True, text=True, env=env, timeout=120)


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="this machine has the driver")
@pytest.mark.parametrize("command", [["run", "--ids", "1"], ["chat", "hello"]])
def test_without_a_driver(command: list[str]) -> None:
    done = run(command[0], BUNDLE, *command[1:])
    assert done.returncode == 5
    # Where the system shows a GPU whose driver is missing, the sentence goes on with what to do.
    assert done.stderr.startswith(f"error: {BUNDLE}: {NEEDS}no driver found")
    assert done.stdout == ""


def test_on_another_gpu(tmp_path: Path) -> None:
    (tmp_path / "libcuda.so.1").symlink_to(FAKE_DRIVER)
    gpus = {"LD_LIBRARY_PATH": str(tmp_path), "TRTMC_FAKE_GPUS": "NVIDIA H200/9.0"}
    done = run("run", BUNDLE, "--ids", "1", "--json", **gpus)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (5, "load.wrong_target")
    assert f"{NEEDS}GPU 0 (NVIDIA H200) has 9.0" in error["message"]


def test_can_be_read_anywhere() -> None:
    shown = run("inspect", BUNDLE)
    assert shown.returncode == 0, shown.stderr
    assert "sm_89" in shown.stdout
    assert run("verify", BUNDLE).returncode == 0
