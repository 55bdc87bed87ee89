"""Runs one case: TensorRT's parser, the walk, OpenVINO, and the comparison; says how far it came.

Knows what a verdict is; nothing about files, processes or expectations.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tests.onnx_conformance.cases import Case
from tests.onnx_conformance.semantics import OTHERWISE
from tests.onnx_conformance.values import array_of, difference, rich, stored
from trtmc.core.contract import TensorSpec
from trtmc.core.errors import TrtmcError
from trtmc.network.cpu import CpuNetwork
from trtmc.network.onnx_model import parse_onnx


class Verdict(Enum):
    """How far a case came, best first; the values are those of the expectations file."""

    PASSED = "passed"
    OTHERWISE = "passed as TensorRT defines it"  # ONNX's result is another one, for a reason that is given
    PARSER = "refused by TensorRT's parser"
    REFUSED = "refused by us"
    WRONG = "wrong"
    FAILED = "failed"  # an error that is no refusal: of ours or of OpenVINO
    CRASHED = "crashed"  # took the process along


@dataclass(frozen=True)
class Judgement:
    """`why` is empty for a pass."""

    verdict: Verdict
    why: str = ""


def judge(case: Case) -> Judgement:
    """Never raises for what a case does."""
    try:
        loaded = parse_onnx(case.serialized(), case.name)
    except TrtmcError as error:
        return Judgement(
            Verdict.PARSER, error.message.removeprefix(f"{case.name}: TensorRT's ONNX parser refuses it: ")
        )
    try:
        network = CpuNetwork(loaded)
        outputs = {spec.name: spec for spec in network.outputs}
        found = network.run(_inputs(case, network.inputs))
    except TrtmcError as error:
        return Judgement(Verdict.REFUSED, error.message)
    except Exception as error:
        return Judgement(Verdict.FAILED, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
    return _compared(case, outputs, found)


def _inputs(case: Case, specs: tuple[TensorSpec, ...]) -> dict[str, np.ndarray]:
    names = [value.name for value in case.model.graph.input]
    given = dict(zip(names, case.inputs, strict=False))
    if len(specs) == len(names):  # the parser renames an input that a loop's body has another name for
        given = dict(zip((spec.name for spec in specs), case.inputs, strict=True))
    return {spec.name: stored(array_of(given[spec.name]), spec) for spec in specs}


def _compared(case: Case, outputs: dict[str, TensorSpec], found: dict[str, np.ndarray]) -> Judgement:
    other = OTHERWISE.get(case.name)
    expected = [array_of(value) for value in case.outputs]
    if other is not None and other.expected is not None:
        expected = other.expected(*(array_of(value) for value in case.inputs))
    narrowed = False
    for value, wanted in zip(case.model.graph.output, expected, strict=True):
        spec = outputs[value.name]
        got = rich(found[value.name], spec, wanted.shape)
        narrowed |= (got.dtype, wanted.dtype) == (np.float32, np.float64)
        if got.dtype != wanted.dtype and not narrowed:
            return Judgement(Verdict.WRONG, f"output '{value.name}': type {got.dtype}, expected {wanted.dtype}")
        if other is not None and other.allows:
            unlike = _outside(got, wanted, other.allows)
        else:
            unlike = difference(got, wanted, case.rtol, case.atol)
        if unlike:
            return Judgement(Verdict.WRONG, f"output '{value.name}': {unlike}")
    if other is not None:
        return Judgement(Verdict.OTHERWISE, other.reason)
    return Judgement(Verdict.OTHERWISE, "float64 is float32 in TensorRT") if narrowed else Judgement(Verdict.PASSED)


def _outside(found: np.ndarray, expected: np.ndarray, allowed: tuple[float, ...]) -> str:
    """Random values: the shape counts, and that each is one of those allowed, all of which occur."""
    if found.shape != expected.shape:
        return f"shape {list(found.shape)}, expected {list(expected.shape)}"
    seen = set(np.unique(found).tolist())
    return "" if seen == set(allowed) else f"values {sorted(seen)}, expected {list(allowed)}"
