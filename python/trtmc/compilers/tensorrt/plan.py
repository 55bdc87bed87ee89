"""A plan on its way from TensorRT to the engine file: written to disk as TensorRT gives it, never whole in memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from trtmc.compilers.base import CompiledEngine
from trtmc.core.contract import Contract
from trtmc.core.errors import ResourceError
from trtmc.core.report import Report
from trtmc.ops.lowering.api import trt

_CHUNK = 4 << 20


def write_all(file: BinaryIO, data: bytes) -> None:
    """Writes a piece of the plan."""
    file.write(data)


class _Writer(trt.IStreamWriter):
    """TensorRT's view of the file. An exception must not cross its border, so it waits in `error`."""

    def __init__(self, file: BinaryIO) -> None:
        trt.IStreamWriter.__init__(self)
        self._file = file
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            write_all(self._file, data)
        except OSError as error:
            self.error = error
            return 0
        return len(data)


class PlanFile:
    """An unnamed place for a plan in `folder`; the file is gone when this object is."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix=".plan.", dir=folder)
        self.path = Path(self._folder.name) / "plan"

    def build(self, builder: Any, network: Any, config: Any) -> bool:
        """Lets TensorRT build and write the plan; False, and no file, if it would not."""
        built = False
        try:
            with open(self.path, "wb") as file:
                writer = _Writer(file)
                built = builder.build_serialized_network_to_stream(network, config, writer) and writer.error is None
        finally:
            if not built:
                self._folder.cleanup()
        if writer.error is not None:
            raise ResourceError(
                "engine.write",
                f"{self.path.parent}: can't write the plan ({writer.error.strerror}); "
                "free space or choose another folder",
            ) from writer.error
        return built


class PlanEngine(CompiledEngine):
    """The engine file is the plan itself, byte for byte."""

    def __init__(self, contract: Contract, report: Report, file: PlanFile) -> None:
        super().__init__(contract, report)
        self._file = file
        self._length = file.path.stat().st_size

    @property
    def length(self) -> int:
        return self._length

    def chunks(self) -> Iterator[memoryview]:
        with open(self._file.path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                yield memoryview(chunk)

    def write(self, path: Path) -> None:
        """As the base class; within one file system that is another name for the same file."""
        try:
            linked = path.with_name(f".{path.name}.partial")
            linked.unlink(missing_ok=True)
            os.link(self._file.path, linked)
            os.replace(linked, path)
        except OSError:
            super().write(path)
