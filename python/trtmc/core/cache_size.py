"""What an engine's state (KV caches) takes on the device, and whether any GPU of the target could hold it.

Caches have their full size from the first step on, so limits that no GPU can serve are refused before any work. Knows
declared tensors and dimension ranges, no model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from trtmc.core.contract import Limits, Profile, StateLink, TensorSpec
from trtmc.core.errors import UsageError
from trtmc.core.target import TargetInfo, target_table


def cache_bytes(inputs: Sequence[TensorSpec], state: Sequence[StateLink], profiles: Sequence[Profile]) -> int:
    """Bytes of all state at the greatest sizes that the profiles allow."""
    linked = {link.input for link in state}
    most = {name: max(p.dims[name].maximum for p in profiles) for name in (profiles[0].dims if profiles else ())}
    return sum(
        math.prod(dim if isinstance(dim, int) else most[dim] for dim in spec.shape) * spec.dtype.bits // 8
        for spec in inputs
        if spec.name in linked
    )


def check_cache(size: int, limits: Limits, target: TargetInfo | None) -> None:
    """Refuses caches that are larger than the memory of every GPU of the target."""
    row = target_table().get(target.name) if target is not None else None
    if row is None or row.memory_gb is None or size <= row.memory_gb * 10**9:
        return
    each = size / limits.max_batch / limits.max_sequence
    raise UsageError(
        "limits.memory",
        f"the KV caches of {limits.max_batch} sequences of {limits.max_sequence} positions take {size / 1e9:.1f} GB "
        f"({each:.0f} bytes a position), more than any GPU of {row.info.name} has ({row.memory_gb} GB); "
        "lower --max-batch or --max-sequence",
    )
