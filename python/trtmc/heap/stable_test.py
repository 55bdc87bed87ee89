"""The heap's library in fresh processes, and the restart that puts it there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trtmc.heap import stable

ASKS = Path(__file__).with_name("libasks_for_memory.so")
PLACE = 0x100000000000

LOAD = f"""
import ctypes
process, asks = ctypes.CDLL(None), ctypes.CDLL({str(ASKS)!r})
asks.ask.restype = ctypes.c_void_p
asks.ask.argtypes = [ctypes.c_int, ctypes.c_size_t]
asks.give_back.argtypes = [ctypes.c_void_p]
"""


def python(code: str, preload: bool = True, **environment: str) -> str:
    settings = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)), **environment}
    if preload:
        settings["LD_PRELOAD"] = str(stable.LIBRARY)
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_served_library_gets_the_heap_and_nobody_else_does() -> None:
    where = "print(*(asks.ask(how, 4096) for how in range(8)))\n"
    serve = "assert process.trtmc_heap_serve(b'libasks_for') == 1\n"
    before, after = python(LOAD + where + serve + where).splitlines()
    assert all(int(at) > PLACE + (1 << 43) for at in before.split()), "glibc's heap lies higher"
    mine = [int(at) - PLACE for at in after.split()]
    assert mine[0] == 0 and all(0 <= at < 10_000_000 for at in mine)


def test_the_same_addresses_in_every_process() -> None:
    code = (
        LOAD + "process.trtmc_heap_serve(b'libasks_for')\nprint(*(asks.ask(how % 8, 100 * how) for how in range(40)))"
    )
    assert python(code) == python(code, PYTHONHASHSEED="1", PADDING="x" * 50_000)


def test_blocks_that_change_hands() -> None:
    code = """
blocks = [asks.ask(how, 1000) for how in range(8)]
process.trtmc_heap_serve(b'libasks_for')
assert asks.strings(10_000) > 100_000
blocks += [asks.ask(how, 1000) for how in range(8)]
process.realloc.restype = ctypes.c_void_p
process.realloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
blocks.append(process.realloc(asks.ask(0, 100), 50_000))
process.malloc_usable_size.argtypes = [ctypes.c_void_p]
assert process.malloc_usable_size(blocks[-1]) >= 50_000
assert process.malloc_usable_size(blocks[0]) >= 1000
for block in blocks:
    asks.give_back(block)
import subprocess, sys
print(subprocess.run([sys.executable, "-c", "print(3)"], capture_output=True, text=True).stdout)
"""
    assert python(LOAD + code).strip() == "3"


def test_a_limit_on_address_space() -> None:
    code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
"""
    serve = "process.trtmc_heap_serve(b'libasks_for')\n"
    after = "print(asks.ask(0, 1000) == 0x100000000000, process.trtmc_heap_serves())\n"
    spill = "print(all(asks.ask(0, 20_000) for _ in range(20_000)), process.trtmc_heap_serves())\n"
    assert python(code + LOAD + serve + after + spill).splitlines() == ["True 1", "True 0"]


def test_a_library_that_is_not_there() -> None:
    assert python(LOAD + "print(process.trtmc_heap_serve(b'libnothing'), process.trtmc_heap_serves())") == "0 0\n"


RESTART = """
import os, sys
from trtmc.heap import stable
{own}
print("started", flush=True)
said = stable.enter({compiler!r})
print((said or "nothing").partition(".")[0])
print(stable._installed(), os.environ.get("LD_PRELOAD", ""))
"""


def restarted(compiler: str, own: bool, **environment: str) -> list[str]:
    code = RESTART.format(compiler=compiler, own="stable.own_process()" if own else "")
    return python(code, preload=False, **environment).splitlines()


def test_an_owned_process_starts_again_once() -> None:
    assert restarted("tensorrt_rtx", own=True) == ["started", "started", "nothing", "True "]


def test_only_where_it_is_needed_and_allowed() -> None:
    assert restarted("tensorrt_rtx", own=False) == ["started", "heap: system", "False "]
    assert restarted("openvino", own=True) == ["started", "nothing", "False "]


def test_another_preloaded_library_stays() -> None:
    other = str(ASKS)
    assert restarted("tensorrt_rtx", own=True, LD_PRELOAD=other) == ["started", "started", "nothing", f"True {other}"]


def test_a_library_that_does_not_load_is_an_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    code = f"""
from pathlib import Path
from trtmc.core.errors import InternalError
from trtmc.heap import stable
stable.LIBRARY = Path({str(broken)!r})
stable.own_process()
try:
    stable.enter("tensorrt_rtx")
except InternalError as error:
    print(error.code, "could not be loaded" in error.message)
"""
    assert python(code, preload=False).strip() == "builder.heap True"


def test_the_user_hears_of_a_missing_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stable, "LIBRARY", tmp_path / "absent.so")
    monkeypatch.setattr(stable, "_owned", True)
    said = stable.enter("tensorrt_rtx")
    assert said is not None and said.startswith("heap: system. The same inputs may give engines that differ")
    assert "`bazel build`" in said
    assert stable.enter("openvino") is None


def test_system_heap_elsewhere() -> None:
    assert stable.kind() == "system"
    stable.serve("tensorrt_rtx")
