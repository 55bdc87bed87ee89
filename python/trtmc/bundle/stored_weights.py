"""Weights outside of the engines: what the header's `weights` and the bindings must agree on, and their layout.

Tensors stand in their section in list order, each at the next multiple of 4096 behind the one before, the first at 0;
the section ends where the last one ends. So there is one layout for given tensors. cc/bundle/weights_check.cc is the
twin. This module reads no JSON and converts nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from trtmc.bundle.rules import Fault, Rule

if TYPE_CHECKING:
    from trtmc.bundle.header import BundleHeader, StoredTensor, WeightBinding

ALIGNMENT = 4096
_MOST = 2**63 - 1
_CASTS = ("float32", "float16", "bfloat16")
_BITS = {"float32": 32, "float16": 16, "bfloat16": 16, "int64": 64, "int32": 32}  # the others take a byte


def stored_bytes(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of a dense tensor; sub-byte types are not stored."""
    return prod(shape) * _BITS.get(dtype, 8) // 8


def aligned(offset: int) -> int:
    """The next offset at which a tensor may start."""
    return -(-offset // ALIGNMENT) * ALIGNMENT


def steps_between(tensor: StoredTensor, dtype: str, shape: Sequence[int]) -> tuple[str, ...] | None:
    """The one legal recipe that makes `dtype` and `shape` from a stored tensor, or None if there is none."""
    if prod(tensor.shape) != prod(shape):
        return None
    if tensor.dtype != dtype and not (tensor.dtype in _CASTS and dtype in _CASTS):
        return None
    reshape = ("reshape",) if tuple(tensor.shape) != tuple(shape) else ()
    return (*reshape, "cast") if tensor.dtype != dtype else reshape


def check(header: BundleHeader) -> None:
    """Names differ and sizes are possible; every binding has its tensor and the right steps; no tensor is unused."""
    tensors: dict[str, StoredTensor] = {}
    for tensor in header.weights.tensors if header.weights is not None else ():
        if tensor.name in tensors:
            raise Fault(Rule.INCONSISTENT, f"header: weights.tensors has the name '{tensor.name}' twice")
        tensors[tensor.name] = tensor
        if stored_bytes(tensor.dtype, tensor.shape) > _MOST:
            raise Fault(Rule.WEIGHTS_LAYOUT, f"header: weights.tensors: '{tensor.name}' is larger than any file")
    used = set()
    for i, component in enumerate(header.components):
        for j, engine in enumerate(component.engines):
            for k, binding in enumerate(engine.weights):
                _check_binding(binding, tensors, f"components[{i}].engines[{j}].weights[{k}]")
                used.add(binding.tensor)
    for name in tensors:
        if name not in used:
            raise Fault(Rule.INCONSISTENT, f"header: weights.tensors: no engine uses '{name}'")


def check_layout(header: BundleHeader) -> None:
    """Offsets and the section's length are those of the one layout; references were checked before."""
    if header.weights is None:
        return
    end = 0
    for i, tensor in enumerate(header.weights.tensors):
        where = f"header: weights.tensors[{i}] '{tensor.name}'"
        if tensor.offset != aligned(end):
            raise Fault(Rule.WEIGHTS_LAYOUT, f"{where} starts at {tensor.offset}, expected {aligned(end)}")
        end = tensor.offset + stored_bytes(tensor.dtype, tensor.shape)
        if end > _MOST:
            raise Fault(Rule.WEIGHTS_LAYOUT, f"{where} ends behind any file")
    name = header.weights.section
    length = next(section.length for section in header.sections if section.name == name)
    if end != length:
        raise Fault(Rule.WEIGHTS_LAYOUT, f"header: weights end at byte {end} of section '{name}', which has {length}")


def _check_binding(binding: WeightBinding, tensors: dict[str, StoredTensor], where: str) -> None:
    tensor = tensors.get(binding.tensor)
    if tensor is None:
        raise Fault(
            Rule.MISSING_WEIGHT,
            f"header: {where} refers to tensor '{binding.tensor[:80]}', which weights.tensors does not have",
        )
    expected = steps_between(tensor, binding.dtype, binding.shape)
    if expected is None:
        raise Fault(
            Rule.WEIGHT_STEPS,
            f"header: {where}: {binding.dtype} {list(binding.shape)} cannot be made from {tensor.dtype} "
            f"{list(tensor.shape)}",
        )
    if binding.steps != expected:
        raise Fault(
            Rule.WEIGHT_STEPS,
            f"header: {where}.steps is [{', '.join(binding.steps)}], expected [{', '.join(expected)}]",
        )
