"""Optimization profiles derived from declared named dimensions, never from tensor names.

A component says which dimensions it has and how they vary in each use; the range of every input's shape follows.
"""

from __future__ import annotations

from collections.abc import Iterable

from trtmc.core.contract import DimRange, Limits, Profile, TensorSpec
from trtmc.core.errors import InternalError

Shape = tuple[int, ...]


def decoder_profiles(limits: Limits, typical_prompt: int = 128) -> tuple[Profile, ...]:
    """The two uses of a decoder with a cache: reading a prompt (context) and one token at a time (generation)."""
    batch = DimRange(1, 1, limits.max_batch)
    prompt = DimRange(1, min(typical_prompt, limits.max_sequence), limits.max_sequence)
    rows = DimRange(1, 1, limits.max_batch * limits.max_sequence)
    return (
        Profile("context", {"batch": batch, "sequence": prompt, "rows": rows}),
        Profile(
            "generation", {"batch": batch, "sequence": DimRange(1, 1, 1), "rows": DimRange(1, 1, limits.max_batch)}
        ),
    )


def profile_shapes(inputs: Iterable[TensorSpec], profile: Profile) -> dict[str, tuple[Shape, Shape, Shape]]:
    """Least, optimal and greatest shape of every input that has a named dimension."""
    shapes: dict[str, tuple[Shape, Shape, Shape]] = {}
    for spec in inputs:
        if not any(isinstance(dim, str) for dim in spec.shape):
            continue
        ranges = [_range(dim, profile, spec) for dim in spec.shape]
        shapes[spec.name] = (
            tuple(r.minimum for r in ranges),
            tuple(r.optimum for r in ranges),
            tuple(r.maximum for r in ranges),
        )
    return shapes


def _range(dim: int | str, profile: Profile, spec: TensorSpec) -> DimRange:
    if isinstance(dim, int):
        return DimRange(dim, dim, dim)
    if dim not in profile.dims:
        raise InternalError(
            "profile.dimension", f"profile '{profile.name}' gives no range for dimension '{dim}' of '{spec.name}'"
        )
    return profile.dims[dim]
