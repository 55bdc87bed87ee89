"""Runs a NetworkModule once and keeps the result: the finished network with its declared inputs and outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trtmc.core.contract import StateLink, TensorSpec, WeightManifest
from trtmc.core.errors import InternalError
from trtmc.ops import scope
from trtmc.ops.lowering.network import NetworkLowering
from trtmc.ops.lowering.verify import verify
from trtmc.ops.module import NetworkModule
from trtmc.ops.tensor import Tensor


@dataclass(frozen=True)
class LoweredNetwork:
    """A finished network. Keep this object as long as `network` is used: it owns what the constants point to.

    The network's inputs are `inputs`, then those of `weights`.
    """

    lowering: NetworkLowering
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    state: tuple[StateLink, ...]
    weights: WeightManifest = ()

    @property
    def network(self) -> Any:
        """The INetworkDefinition."""
        return self.lowering.network

    @property
    def builder(self) -> Any:
        """The TensorRT builder that made the network."""
        return self.lowering.builder


def lower(module: NetworkModule) -> LoweredNetwork:
    """Builds and verifies the network of `module`, whose parameters must be loaded."""
    lowering = NetworkLowering()
    specs = tuple(module.input_tensors())
    with scope.building(lowering):
        inputs = {spec.name: Tensor(spec.dtype, spec.shape, lowering.add_input(spec)) for spec in specs}
        outputs = module.forward(**inputs)
        for name, tensor in outputs.items():
            lowering.mark_output(name, tensor.handle)
    unread = [name for name, parameter in module.named_parameters() if not parameter.used]
    if unread:
        raise InternalError("lowering.unread_parameter", f"forward never reads the parameters {', '.join(unread)}")
    lowered = LoweredNetwork(
        lowering,
        specs,
        tuple(TensorSpec(name, tensor.dtype, tensor.shape) for name, tensor in outputs.items()),
        tuple(module.state_links()),
        tuple(lowering.weights),
    )
    verify(lowering.network, lowered.inputs, lowered.outputs, lowered.state, lowered.weights)
    return lowered
