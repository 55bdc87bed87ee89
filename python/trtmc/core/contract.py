"""The contract of one component: named tensors, in-place state, profiles and limits, as stored next to an engine.

Shapes mix numbers and dimension names; every named dimension has a range in every profile. Knows no model and no
compiler; the compiler writes the final contract, since an engine may keep, say, its caches in another type than the
network does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, InternalError


@dataclass(frozen=True)
class Limits:
    """What an engine must be able to hold."""

    max_batch: int
    max_sequence: int

    def to_json(self) -> dict[str, int]:
        return {"max_batch": self.max_batch, "max_sequence": self.max_sequence}


@dataclass(frozen=True)
class TensorSpec:
    """Name, element type and shape (numbers and dimension names) of one input or output."""

    name: str
    dtype: DType
    shape: tuple[int | str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype.value, "shape": list(self.shape)}


@dataclass(frozen=True)
class StateLink:
    """An output that must be bound to the same memory as an input."""

    input: str
    output: str

    def to_json(self) -> dict[str, str]:
        return {"input": self.input, "output": self.output}


@dataclass(frozen=True)
class DimRange:
    """Least, most likely and greatest size of a dimension."""

    minimum: int
    optimum: int
    maximum: int

    def __post_init__(self) -> None:
        if not 0 < self.minimum <= self.optimum <= self.maximum:
            raise InternalError("contract.range", f"a dimension range must rise from 1 on, found {self.to_json()}")

    def to_json(self) -> list[int]:
        return [self.minimum, self.optimum, self.maximum]


@dataclass(frozen=True)
class Profile:
    """One way in which an engine is used: a range for every named dimension."""

    name: str
    dims: Mapping[str, DimRange]

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "dims": {name: r.to_json() for name, r in self.dims.items()}}


@dataclass(frozen=True)
class WeightBinding:
    """A weight that stands outside of the engine: the input that takes it, the tensor of the checkpoint, the steps.

    Steps in order: `reshape` to this shape, `cast` to this dtype, each only if needed.
    """

    input: str
    dtype: DType
    shape: tuple[int, ...]
    tensor: str
    steps: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "input": self.input,
            "dtype": self.dtype.value,
            "shape": list(self.shape),
            "tensor": self.tensor,
            "steps": list(self.steps),
        }


WeightManifest = tuple[WeightBinding, ...]
"""All weights outside of one engine; empty if it holds them itself."""


@dataclass(frozen=True)
class Contract:
    """Everything that a runtime may rely on about an engine. `weights` are inputs of the engine, not of its caller."""

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    state: tuple[StateLink, ...]
    profiles: tuple[Profile, ...]
    limits: Limits
    report: Mapping[str, Any] = field(default_factory=dict)  # deterministic facts only: no times, no memory figures
    weights: WeightManifest = ()

    def __post_init__(self) -> None:
        _check(self)

    def to_json(self) -> dict[str, Any]:
        """The object of `<component>.json`."""
        return {
            "inputs": [t.to_json() for t in self.inputs],
            "outputs": [t.to_json() for t in self.outputs],
            "state": [s.to_json() for s in self.state],
            "profiles": [p.to_json() for p in self.profiles],
            "limits": self.limits.to_json(),
            "weights": [w.to_json() for w in self.weights],
            "report": dict(self.report),
        }

    @classmethod
    def from_json(cls, value: Any, where: str = "contract") -> Contract:
        """Strict reader of `to_json`'s form."""
        try:
            _keys(value, {"inputs", "outputs", "state", "profiles", "limits", "weights", "report"})
            tensors = {side: tuple(_tensor(t) for t in value[side]) for side in ("inputs", "outputs")}
            state = tuple(StateLink(**_keys(s, {"input", "output"})) for s in value["state"])
            profiles = tuple(_profile(p) for p in value["profiles"])
            limits = Limits(**_keys(value["limits"], {"max_batch", "max_sequence"}))
            weights = tuple(_weight(w) for w in value["weights"])
            return cls(tensors["inputs"], tensors["outputs"], state, profiles, limits, dict(value["report"]), weights)
        except (KeyError, TypeError, ValueError, InternalError) as error:
            raise BadInput("contract.schema", f"{where}: not a valid engine contract ({error})") from None


def _tensor(value: Any) -> TensorSpec:
    _keys(value, {"name", "dtype", "shape"})
    return TensorSpec(value["name"], DType(value["dtype"]), tuple(value["shape"]))


def _weight(value: Any) -> WeightBinding:
    _keys(value, {"input", "dtype", "shape", "tensor", "steps"})
    return WeightBinding(
        value["input"], DType(value["dtype"]), tuple(value["shape"]), value["tensor"], tuple(value["steps"])
    )


def _profile(value: Any) -> Profile:
    _keys(value, {"name", "dims"})
    return Profile(value["name"], {name: DimRange(*r) for name, r in value["dims"].items()})


def _keys(value: Any, expected: set[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != expected:
        found = sorted(value) if isinstance(value, dict) else type(value).__name__
        raise ValueError(f"expected the keys {sorted(expected)}, found {found}")
    return value


def _check(contract: Contract) -> None:
    names = [t.name for t in contract.inputs + contract.outputs] + [w.input for w in contract.weights]
    if len(set(names)) != len(names):
        raise InternalError("contract.duplicate", f"tensor names must be unique, found {names}")
    named = {d for t in contract.inputs + contract.outputs for d in t.shape if isinstance(d, str)}
    for profile in contract.profiles:
        if set(profile.dims) != named:
            raise InternalError(
                "contract.profile",
                f"profile '{profile.name}' has the dimensions {sorted(profile.dims)}, the tensors have {sorted(named)}",
            )
    inputs, outputs = ({t.name: t for t in side} for side in (contract.inputs, contract.outputs))
    for link in contract.state:
        before, after = inputs.get(link.input), outputs.get(link.output)
        if before is None or after is None or (before.dtype, before.shape) != (after.dtype, after.shape):
            raise InternalError(
                "contract.state",
                f"state '{link.input}' -> '{link.output}' must join an input and an output of one type and shape",
            )
