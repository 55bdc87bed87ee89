"""Which optimization profiles an engine gets, from the uses that the contract declares.

A use that is fixed to one row (one token, batch 1) makes TensorRT compile matrix-vector products, which want the
weights of joined products in another order: the plan then holds most weights twice. A range that ends at two keeps one
copy.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum
from typing import Any

from trtmc.core.contract import DimRange, Profile, TensorSpec
from trtmc.core.errors import InternalError
from trtmc.core.profiles import profile_shapes


class ProfileMode(Enum):
    """`shared`: every use has a profile, weights stand in the plan once. `exact`: the ranges as declared. `single`: the
    first use's profile alone, which must cover all others."""

    SHARED = "shared"
    EXACT = "exact"
    SINGLE = "single"


def engine_profiles(declared: tuple[Profile, ...], mode: ProfileMode) -> tuple[Profile, ...]:
    """The profiles to compile; the final contract names the same."""
    if mode is ProfileMode.EXACT or len(declared) < 2:
        return declared
    first = declared[0]
    if mode is ProfileMode.SINGLE:
        merged = {name: _hull(name, declared) for name in first.dims}
        return (replace(first, dims=merged),)
    return tuple(_widened(profile, declared) for profile in declared)


def add_profile(builder: Any, config: Any, inputs: Iterable[TensorSpec], profile: Profile) -> None:
    """One optimization profile from the declared shapes of the inputs."""
    native = builder.create_optimization_profile()
    for name, (least, best, most) in profile_shapes(inputs, profile).items():
        native.set_shape(name, least, best, most)
    if config.add_optimization_profile(native) < 0:
        raise InternalError("compiler.profile", f"TensorRT refused the optimization profile '{profile.name}'")


def _widened(profile: Profile, declared: tuple[Profile, ...]) -> Profile:
    """A profile that fixes every dimension gets room for two where another profile has room."""
    if any(r.maximum > 1 for r in profile.dims.values()):
        return profile
    room = {name: max(other.dims[name].maximum for other in declared) for name in profile.dims}
    dims = {name: DimRange(1, 1, 2) if room[name] > 1 else r for name, r in profile.dims.items()}
    return replace(profile, dims=dims)


def _hull(name: str, declared: tuple[Profile, ...]) -> DimRange:
    """From the least to the greatest of all uses, tuned for the first."""
    ranges = [profile.dims[name] for profile in declared]
    return DimRange(min(r.minimum for r in ranges), ranges[0].optimum, max(r.maximum for r in ranges))
