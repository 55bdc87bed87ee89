"""Lets a signal stop a build that is inside TensorRT.

Python runs a signal's handler inside whatever callback TensorRT makes next, and what a handler raises there is lost in
TensorRT. So while TensorRT builds, signals are only noted; TensorRT is asked to stop after the step it is in, and the
signal is delivered once it has returned. What the process ignores (nohup, a job in the background) stays ignored.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from trtmc.ops.lowering.api import trt

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption(trt.IProgressMonitor):
    """A builder configuration's progress monitor that ends the build when a signal came."""

    def __init__(self) -> None:
        trt.IProgressMonitor.__init__(self)
        self._came: int | None = None

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
        """Nothing to do."""

    def phase_finish(self, phase_name: str) -> None:
        """Nothing to do."""

    def step_complete(self, phase_name: str, step: int) -> bool:
        """False ends the build."""
        return self._came is None

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """Notes signals inside the block and delivers the first one after it."""
        if threading.current_thread() is not threading.main_thread():  # handlers are the main thread's
            yield
            return
        heard = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._note) for number in heard}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)
            if self._came is not None:
                signal.raise_signal(self._came)

    def _note(self, number: int, _frame: FrameType | None) -> None:
        self._came = self._came or number
