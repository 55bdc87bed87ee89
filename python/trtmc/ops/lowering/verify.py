"""Verifier of a finished network: what a legal network is, in executable form.

Runs after every lowering: cheap, and it turns a builder's mistake into a sentence instead of a compiler's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trtmc.core.contract import StateLink, TensorSpec, WeightManifest
from trtmc.core.errors import InternalError
from trtmc.ops.lowering.api import FROM_TRT, TO_TRT, trt

_FORBIDDEN = {trt.LayerType.PLUGIN, trt.LayerType.PLUGIN_V2, trt.LayerType.PLUGIN_V3}


def verify(
    network: Any,
    inputs: Sequence[TensorSpec],
    outputs: Sequence[TensorSpec],
    state: Sequence[StateLink],
    weights: WeightManifest = (),
) -> None:
    """Raises InternalError "network.illegal" with everything that is wrong. `weights` are inputs behind `inputs`."""
    declared = [*inputs, *(TensorSpec(w.input, w.dtype, w.shape) for w in weights)]
    problems = [
        *_check_side("input", [network.get_input(i) for i in range(network.num_inputs)], declared),
        *_check_side("output", [network.get_output(i) for i in range(network.num_outputs)], outputs),
        *_check_layers(network),
        *_check_state(inputs, outputs, state),
    ]
    if problems:
        raise InternalError("network.illegal", "the finished network is not legal: " + "; ".join(problems[:10]))


def _check_side(side: str, found: Sequence[Any], declared: Sequence[TensorSpec]) -> Iterable[str]:
    if [t.name for t in found] != [spec.name for spec in declared]:
        yield f"{side}s are {[t.name for t in found]}, declared are {[spec.name for spec in declared]}"
        return
    for tensor, spec in zip(found, declared, strict=True):
        if tensor.dtype != TO_TRT[spec.dtype]:
            yield f"{side} '{spec.name}' is {tensor.dtype}, declared {spec.dtype}"
        shape = tuple(tensor.shape)
        declared_shape = tuple(-1 if isinstance(d, str) else d for d in spec.shape)
        if shape != declared_shape:
            yield f"{side} '{spec.name}' has shape {list(shape)}, declared {list(spec.shape)}"
        if side == "input":
            yield from _check_names(tensor, spec)


def _check_names(tensor: Any, spec: TensorSpec) -> Iterable[str]:
    for axis, dim in enumerate(spec.shape):
        if isinstance(dim, str) and tensor.get_dimension_name(axis) != dim:
            yield f"input '{spec.name}': dimension {axis} is not named '{dim}'"


def _check_layers(network: Any) -> Iterable[str]:
    read = {network.get_output(i).name for i in range(network.num_outputs)}
    made: dict[str, str] = {}
    for index in range(network.num_layers):
        layer = network.get_layer(index)
        if layer.type in _FORBIDDEN:
            yield f"layer '{layer.name}' is a plugin"
        if layer.name.startswith("(Unnamed Layer"):  # TensorRT also drops a name that is taken
            yield f"layer {index} has no name of its own: '{layer.name}'"
        for slot in range(layer.num_inputs):
            tensor = layer.get_input(slot)
            if tensor is not None:
                read.add(tensor.name)
        for slot in range(layer.num_outputs):
            tensor = layer.get_output(slot)
            made[tensor.name] = layer.name
            if tensor.dtype not in FROM_TRT:
                yield f"layer '{layer.name}' gives {tensor.dtype}, which no contract can name"
    for name, layer_name in made.items():
        if name not in read:
            yield f"nothing reads the result of layer '{layer_name}'"
    for index in range(network.num_inputs):
        if network.get_input(index).name not in read:
            yield f"nothing reads input '{network.get_input(index).name}'"


def _check_state(
    inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], state: Sequence[StateLink]
) -> Iterable[str]:
    before, after = {t.name: t for t in inputs}, {t.name: t for t in outputs}
    for link in state:
        a, b = before.get(link.input), after.get(link.output)
        if a is None or b is None or (a.dtype, a.shape) != (b.dtype, b.shape):
            yield f"state '{link.input}' -> '{link.output}' must join an input and an output of one type and shape"
