"""The GPU backend's DSO: what it needs of a machine, and what it shows."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

DSO = Path("cc/backends/tensorrt/libtrtmc_backend_tensorrt.so")


def listed(*arguments: str) -> str:
    return subprocess.run([*arguments, str(DSO)], check=True, capture_output=True, text=True).stdout


def test_needs_neither_cuda_nor_tensorrt_to_be_loaded() -> None:
    needed = [line for line in listed("readelf", "-d").splitlines() if "NEEDED" in line]
    assert needed
    for word in ("cudart", "libcuda", "nvinfer", "tensorrt"):
        assert not any(word in line for line in needed), needed


def test_shows_one_symbol() -> None:
    shown = [line.split()[-1] for line in listed("nm", "-D", "--defined-only").splitlines()]
    assert shown == ["trtmc_backend_v1"]


def test_loads_without_a_gpu() -> None:
    library = ctypes.CDLL(str(DSO.absolute()))
    library.trtmc_backend_v1.restype = ctypes.c_void_p
    assert library.trtmc_backend_v1()
