"""The section of a bundle that holds checkpoint tensors once, for all engines that take them as inputs.

Tensors stand in order of their names, each at a page boundary, in the checkpoint's own type, and are streamed from the
checkpoint's memory map: nothing is copied into memory. Which engines want them is their contracts' matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trtmc import bundle as fmt
from trtmc.bundle.stored_weights import aligned
from trtmc.core.contract import Contract
from trtmc.core.weights import WeightFiles

SECTION = "weights/checkpoint"
_CHUNK = 8 << 20


@dataclass(frozen=True)
class WeightsSection:
    """The section's content as a stream, and its record for the header."""

    files: WeightFiles
    record: fmt.StoredWeights

    @property
    def length(self) -> int:
        """Up to the end of the last tensor."""
        last = self.record.tensors[-1]
        return last.offset + self.files.entry(last.name).nbytes

    def chunks(self) -> Iterator[memoryview]:
        """All bytes in order, zeros between tensors; pages are given back once they were read."""
        at = 0
        for tensor in self.record.tensors:
            if tensor.offset > at:
                yield memoryview(bytes(tensor.offset - at))
            flat = self.files.array(tensor.name).reshape(-1).view(np.uint8)
            for start in range(0, len(flat), _CHUNK):
                yield flat[start : start + _CHUNK].data
            at = tensor.offset + len(flat)
            self.files.release(tensor.name)


def weights_section(contracts: Iterable[Contract], files: WeightFiles) -> WeightsSection | None:
    """The tensors that these engines want from outside, or None if they want none."""
    names = sorted({binding.tensor for contract in contracts for binding in contract.weights})
    tensors, offset = [], 0
    for name in names:
        entry = files.entry(name)
        tensors.append(fmt.StoredTensor(name, entry.dtype.value, entry.shape, offset))
        offset = aligned(offset + entry.nbytes)
    return WeightsSection(files, fmt.StoredWeights(SECTION, tuple(tensors))) if tensors else None
