"""The node cases that ship in the `onnx` wheel, as models with inputs and expected outputs.

The wheel makes them when asked; some draw random numbers, so the generators are seeded first. Knows nothing about
TensorRT.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One model with one set of data; values are arrays, or None or lists where ONNX has optionals and sequences."""

    name: str
    model: Any
    inputs: list[Any]
    outputs: list[Any]
    rtol: float
    atol: float

    def serialized(self) -> bytes:
        """The model as a file's bytes."""
        return bytes(self.model.SerializeToString())


def all_cases() -> list[Case]:
    """Sorted by name."""
    np.random.seed(0)  # what the wheel's own generators draw from
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases()
    return sorted((_case(item) for item in found), key=lambda case: case.name)


def _case(item: Any) -> Case:
    ((inputs, outputs),) = item.data_sets
    return Case(item.name, item.model, list(inputs), list(outputs), item.rtol, item.atol)
