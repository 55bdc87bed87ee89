"""The cases that ship in the `onnx` wheel, as models with inputs and expected outputs.

Node cases are made by the wheel when asked; some draw random numbers, so the generators are seeded first. Model cases
are files. Knows nothing about TensorRT.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
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


MODEL_KINDS = ("pytorch-converted", "pytorch-operator", "simple")


def all_cases() -> list[Case]:
    """Node cases by name, then model cases, whose names start with their folder."""
    return node_cases() + model_cases()


def node_cases() -> list[Case]:
    """Sorted by name."""
    np.random.seed(0)  # what the wheel's own generators draw from
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases()
    return sorted((_case(item) for item in found), key=lambda case: case.name)


def model_cases() -> list[Case]:
    """Sorted by folder and name."""
    import onnx

    data = Path(onnx.__file__).parent / "backend/test/data"
    folders = [folder for kind in MODEL_KINDS for folder in sorted((data / kind).iterdir()) if folder.is_dir()]
    return [_model_case(folder) for folder in folders]


def _model_case(folder: Path) -> Case:
    import onnx

    name = f"{folder.parent.name}/{folder.name.removeprefix('test_')}"
    inputs, outputs = (_tensors(folder / "test_data_set_0", key) for key in ("input", "output"))
    return Case(name, onnx.load(str(folder / "model.onnx")), inputs, outputs, 1e-3, 1e-7)


def _tensors(folder: Path, key: str) -> list[Any]:
    """Tensors by number; None for what is no tensor (sequences, which TensorRT's parser refuses)."""
    import onnx
    from google.protobuf.message import DecodeError

    values: list[Any] = []
    for index in range(len(list(folder.glob(f"{key}_*.pb")))):
        tensor = onnx.TensorProto()
        try:
            tensor.ParseFromString((folder / f"{key}_{index}.pb").read_bytes())
            values.append(tensor if tensor.data_type else None)
        except DecodeError:
            values.append(None)
    return values


def _case(item: Any) -> Case:
    ((inputs, outputs),) = item.data_sets
    return Case(item.name, item.model, list(inputs), list(outputs), item.rtol, item.atol)
