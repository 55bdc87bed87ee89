"""Objects of cuda_library: the same bytes in every folder, the architectures asked for, no libcudart.so behind them."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

KIND_ELF = 2
FATBIN_MAGIC = 0xBA55ED50


def objects() -> list[bytes]:
    """What Bazel compiled, each in a sandbox of its own."""
    return [Path(name).read_bytes() for name in os.environ["OBJECTS"].split()]


def architectures(data: bytes) -> list[int]:
    """GPU codes of an object's fat binary: magic, version, header size, size; then entries with their own headers."""
    start = data.index(struct.pack("<I", FATBIN_MAGIC))
    header, size = struct.unpack_from("<HQ", data, start + 6)
    at, end, found = start + header, start + header + size, []
    while at < end:
        kind, _, entry_header, payload = struct.unpack_from("<HHIQ", data, at)
        (architecture,) = struct.unpack_from("<I", data, at + 28)
        assert kind == KIND_ELF, f"entry of kind {kind}: no PTX was asked for"
        found.append(architecture)
        at += entry_header + payload
    return found


def test_two_sandboxes_give_the_same_bytes() -> None:
    first, again = objects()
    assert first == again


def test_holds_the_architectures_asked_for() -> None:
    assert architectures(objects()[0]) == [80, 90]


def test_names_no_folder_and_no_process() -> None:
    data = objects()[0]
    for word in [rb"tmpxft_[0-9a-f]{8}", rb"/tmp/", rb"/sandbox/", rb"/execroot/", os.getcwd().encode()]:
        assert not re.search(word, data), word


@pytest.mark.parametrize("folder", ["a", "much/deeper and with a space"])
def test_the_same_command_elsewhere_gives_the_same_bytes(tmp_path: Path, folder: str) -> None:
    root = tmp_path / folder
    command = json.loads(Path(os.environ["COMMAND"]).read_text("utf-8"))
    toolkit = Path(command[0]).parent.parent  # external/<repository>; in runfiles ../<repository>
    nvcc = Path("..", *Path(command[0]).parts[1:]).resolve()
    (root / toolkit).parent.mkdir(parents=True)
    (root / toolkit).symlink_to(nvcc.parent.parent)
    source = Path("bazel/private/testdata/cuda")
    (root / source).mkdir(parents=True)
    for name in ["kernels.cu", "kernels.h"]:
        shutil.copyfile(source / name, root / source / name)
    out = root / command[command.index("-o") + 1]
    out.parent.mkdir(parents=True)
    (root / "keep").mkdir()
    subprocess.run(
        [*command, "--keep", "--keep-dir", "keep"], cwd=root, check=True, env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    )
    assert out.read_bytes() == objects()[0]


def test_the_dso_needs_no_cuda_runtime() -> None:
    dso = Path(os.environ["DSO"]).absolute()
    listed = subprocess.run(["readelf", "-d", str(dso)], check=True, capture_output=True, text=True).stdout
    assert "NEEDED" in listed
    assert "cudart" not in listed
    library = ctypes.CDLL(str(dso))
    value = ctypes.c_float(1.0)
    # Without a GPU the launch fails with the driver's error. It must not crash.
    assert isinstance(library.add_one_c(ctypes.byref(value), 0), int)
