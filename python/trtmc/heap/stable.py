"""Puts the stable heap (malloc.cc) into a process that builds engines, and points it at TensorRT's library.

A heap can only be replaced when a process starts. So a program that owns its process says so (`own_process`), and
`enter` starts that program again, as the same process, with the heap's library in LD_PRELOAD. Where the library has not
been built (Python straight from a checkout) or the process is someone else's (a test, a notebook), the system's heap
stays: engines work, but their bytes may differ from run to run. `enter` gives the sentence that says so, `kind` the
word for build reports and contracts.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from trtmc.core.errors import InternalError

LIBRARY = Path(__file__).with_name("libtrtmc_builder_heap.so")

_PRELOAD = "LD_PRELOAD"
# The library behind each TensorRT package: how its file name starts.
_SERVED = {"tensorrt_rtx": "libtensorrt_rtx.so", "tensorrt": "libnvinfer.so"}

_UNSTABLE = "The same inputs may give engines that differ in a few bytes"

_owned = False


def own_process() -> None:
    """Says that this process runs one command line from start to end, so that it may be started again."""
    global _owned
    _owned = True


def enter(compiler: str) -> str | None:
    """Starts an owned process again with the stable heap if `compiler` needs it; call before any work is done.

    Gives a sentence for the user if the process goes on with the system's heap although it needs ours.
    """
    if compiler not in _SERVED:
        return None
    preloaded = os.environ.get(_PRELOAD, "").split(":")
    if _installed():
        _forget(preloaded)
        return None
    if not LIBRARY.is_file():
        return (
            f"heap: system. {_UNSTABLE}; `bazel build` and `bazel run //python/trtmc/cli:trtmc-build` have the library"
        )
    if not _owned:
        return f"heap: system. {_UNSTABLE}; a process of its own is needed (`python -m trtmc.cli`)"
    if str(LIBRARY) in preloaded:
        raise InternalError(
            "builder.heap",
            f"{LIBRARY} could not be loaded into this process; the lines of the dynamic linker above say why",
        )
    environment = {**os.environ, _PRELOAD: ":".join([str(LIBRARY), *filter(None, preloaded)])}
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)


def serve(package: str) -> None:
    """Gives the library of a TensorRT package, which must be loaded, the stable heap if this process has it."""
    if _installed() and not ctypes.CDLL(None).trtmc_heap_serve(_SERVED[package].encode()):
        raise InternalError(
            "builder.heap",
            f"package '{package}' is loaded, but no library {_SERVED[package]}*; it must have been renamed",
        )


def start_afresh() -> None:
    """Lays out what TensorRT asks for from now on as in a process that has built nothing yet."""
    if _installed():
        ctypes.CDLL(None).trtmc_heap_start_afresh()


def kind() -> str:
    """`stable` if TensorRT's objects lie in the stable heap, else `system`."""
    return "stable" if _installed() and ctypes.CDLL(None).trtmc_heap_serves() else "system"


def _installed() -> bool:
    return hasattr(ctypes.CDLL(None), "trtmc_heap_serve")


def _forget(preloaded: list[str]) -> None:
    """Programs that this one starts shall have the system's heap."""
    others = [path for path in preloaded if path and path != str(LIBRARY)]
    if others:
        os.environ[_PRELOAD] = ":".join(others)
    else:
        os.environ.pop(_PRELOAD, None)
