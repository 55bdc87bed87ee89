"""The build driver: a checkpoint becomes the finished network of one component. Knows no model and no compiler.

build = build_network(Path("smollm2"), "llama", "llm")
build.network   # INetworkDefinition; valid as long as `build` lives
build.contract  # named tensors, state, profiles, limits
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trtmc.core import family as families
from trtmc.core.cache_size import cache_bytes, check_cache
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.contract import Contract, Limits
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported, UsageError
from trtmc.core.family import Family
from trtmc.core.precision import STORED_TYPES, Precision
from trtmc.core.report import Report
from trtmc.core.target import TargetInfo, check_holds, holds
from trtmc.core.weights import Weights, WeightSource

if TYPE_CHECKING:
    from trtmc.ops.lowering.lower import LoweredNetwork

DEFAULT_MAX_SEQUENCE = 2048


@dataclass(frozen=True)
class NetworkBuild:
    """A finished network with everything a compiler needs; owns the memory that the network's constants point to."""

    family: Family
    component: str
    config: Any
    dtype: DType
    limits: Limits
    lowered: LoweredNetwork
    contract: Contract
    report: Report
    release: Callable[[], None]  # drops the pages of mapped weights; they page in again when read

    @property
    def network(self) -> Any:
        """The INetworkDefinition."""
        return self.lowered.network

    @property
    def builder(self) -> Any:
        """The TensorRT builder that made it."""
        return self.lowered.builder

    @property
    def precision(self) -> Precision:
        """The precision that was built, never AUTO."""
        return Precision.of(self.dtype)


def resolve_family(checkpoint: Checkpoint, name: str | None) -> Family:
    """The named family, or the one that owns the checkpoint's model_type."""
    return families.for_checkpoint(checkpoint) if name is None else families.load(name)


def resolve_precision(precision: Precision | str, target: TargetInfo | None) -> Precision:
    """A precision by name; one that the target lacks, or that no family builds, is refused by name."""
    name = precision.value if isinstance(precision, Precision) else precision
    if name in STORED_TYPES:
        if target is not None:
            check_holds(target, name)
        raise Unsupported(
            "precision.not_built",
            f"no family builds {name} networks yet; choose one of {', '.join(p.value for p in Precision)}",
        )
    return Precision(name)


def resolve_dtype(
    precision: Precision, config: Any, checkpoint: Checkpoint, target: TargetInfo | None = None
) -> tuple[DType, str]:
    """The type to compute in and why: the explicit precision, else the config's type, else what the tensors are stored
    in; where the target lacks that, float16."""
    if precision is not Precision.AUTO:
        if target is not None:
            check_holds(target, precision.value)
        return precision.dtype, "asked for"
    dtype = config.dtype or checkpoint.weights.dominant_dtype()
    own = Precision.of(dtype).value
    if target is None or holds(target, own):
        return dtype, "the checkpoint's own"
    return DType.F16, f"{target.name} lacks the checkpoint's own, {own}"


def resolve_limits(config: Any, max_sequence: int | None, max_batch: int | None) -> Limits:
    """Defaults and bounds of what an engine must hold."""
    sequence = min(config.max_positions, DEFAULT_MAX_SEQUENCE) if max_sequence is None else max_sequence
    batch = 1 if max_batch is None else max_batch
    if not 1 <= sequence <= config.max_positions:
        raise UsageError(
            "limits.max_sequence",
            f"--max-sequence {sequence} is not between 1 and the number of positions the model is meant for, "
            f"{config.max_positions}",
        )
    if not 1 <= batch <= 1024:
        raise UsageError("limits.max_batch", f"--max-batch {batch} is not between 1 and 1024")
    return Limits(batch, sequence)


def build_network(
    checkpoint: Path | Checkpoint,
    family: str | None = None,
    component: str = "llm",
    precision: Precision | str = Precision.AUTO,
    *,
    max_sequence: int | None = None,
    max_batch: int | None = None,
    target: TargetInfo | None = None,
    weights: Weights | str = Weights.EMBEDDED,
    progress: Callable[[str], None] = lambda _: None,
) -> NetworkBuild:
    """Reads the config, loads the weights and lowers the network of one component, in a type that `target` can hold."""
    from trtmc.ops.lowering.lower import lower  # loads TensorRT, which looking at bundles needs not

    report = Report()
    with report.phase("config"):
        opened = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        owner = resolve_family(opened, family)
        config = owner.config(opened)
        part = owner.component(component)
        limits = resolve_limits(config, max_sequence, max_batch)
    with report.phase("weights"):
        dtype, reason = resolve_dtype(resolve_precision(precision, target), config, opened, target)
        progress(f"loading weights of {owner.manifest.name}/{component} as {dtype} ({reason})")
        module = part.create(config, limits, dtype)
        profiles = part.profiles(limits)
        caches = cache_bytes(module.input_tensors(), module.state_links(), profiles)
        check_cache(caches, limits, target)
        source = WeightSource(opened.weights, dtype, Weights(weights))
        part.load(module, config, source)
    with report.phase("network"):
        progress(f"defining the network of {owner.manifest.name}/{component}")
        lowered = lower(module)
    facts = {
        "precision": Precision.of(dtype).value,
        "precision_reason": reason,
        "weights": source.weights.value,
        "cache_bytes": caches,
        "layers": lowered.network.num_layers,
        "constant_bytes": lowered.lowering.constant_bytes,
        "converted_bytes": source.converted_bytes,
        "external_bytes": sum(opened.weights.entry(w.tensor).nbytes for w in lowered.weights),
    }
    report.facts.update(facts)
    contract = Contract(
        lowered.inputs,
        lowered.outputs,
        lowered.state,
        profiles,
        limits,
        facts,
        lowered.weights,
    )
    return NetworkBuild(owner, component, config, dtype, limits, lowered, contract, report, opened.weights.release_all)
