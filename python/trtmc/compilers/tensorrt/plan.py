"""PlanEngine: a serialized plan in the memory that TensorRT gave, handed out without a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trtmc.compilers.base import CompiledEngine
from trtmc.core.contract import Contract
from trtmc.core.report import Report

_CHUNK = 4 << 20


class PlanEngine(CompiledEngine):
    """The engine file is the plan itself, byte for byte."""

    def __init__(self, contract: Contract, report: Report, plan: Any) -> None:
        super().__init__(contract, report)
        self._bytes = memoryview(plan).cast("B").toreadonly()

    @property
    def length(self) -> int:
        return self._bytes.nbytes

    def chunks(self) -> Iterator[memoryview]:
        for start in range(0, self.length, _CHUNK):
            yield self._bytes[start : start + _CHUNK]
