"""A NetworkSource for a network that no family made: its contract is derived from the network itself.

Dynamic dimensions take the names that the network gives them, else one per input and axis. There is one profile, which
leaves every dimension open: the CPU target needs no ranges.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from trtmc.compilers.openvino.compiler import cache_links
from trtmc.compilers.openvino.graph.reader import DTYPES, read_network
from trtmc.core.contract import Contract, DimRange, Limits, Profile, StateLink, TensorSpec
from trtmc.core.report import Report

_OPEN = DimRange(1, 1, 2**31 - 1)


@dataclass
class PlainNetwork:
    """`network` plus whatever owns the memory of its constants (`keepalive`)."""

    network: Any
    keepalive: Any = None
    builder: Any = None
    report: Report = field(default_factory=Report)

    def release(self) -> None:
        """Nothing is mapped."""

    @property
    def contract(self) -> Contract:
        """Tensors in the network's order; every cache update makes a state pair."""
        net = self.network
        inputs = tuple(_spec(net.get_input(i)) for i in range(net.num_inputs))
        outputs = tuple(_spec(net.get_output(i)) for i in range(net.num_outputs))
        state = cache_links(read_network(net))
        same = {spec.name: spec for spec in inputs}
        paired = {output: same[source].shape for source, output in state.items()}
        outputs = tuple(TensorSpec(s.name, s.dtype, paired.get(s.name, s.shape)) for s in outputs)
        named = sorted({d for spec in inputs + outputs for d in spec.shape if isinstance(d, str)})
        profile = Profile("default", dict.fromkeys(named, _OPEN))
        links = tuple(StateLink(source, output) for source, output in state.items())
        return Contract(inputs, outputs, links, (profile,), Limits(1, 1))


def _spec(tensor: Any) -> TensorSpec:
    shape = tuple(
        size if size >= 0 else (tensor.get_dimension_name(axis) or f"{tensor.name}.{axis}")
        for axis, size in enumerate(tuple(tensor.shape))
    )
    return TensorSpec(tensor.name, DTYPES[tensor.dtype], shape)
