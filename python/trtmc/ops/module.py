"""Module, Parameter and NetworkModule: networks written like PyTorch modules.

A Module's attributes are its children; the path to a Parameter ("model.layers.0.mlp.up_proj.weight") is its name in
the checkpoint. A Parameter has a shape from the start and data once weights were loaded. Nothing here sees a TensorRT
object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trtmc.core.contract import StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError
from trtmc.core.weights import ConstantData
from trtmc.ops import scope


class Parameter:
    """A weight: shape now, data later. `dtype` None means the precision of the build."""

    def __init__(self, *shape: int, dtype: DType | None = None) -> None:
        self.shape = shape
        self.dtype = dtype
        self.used = False  # set by the op that reads it; a weight nobody reads is an error
        self._data: ConstantData | None = None

    @property
    def data(self) -> ConstantData:
        """The loaded values."""
        if self._data is None:
            raise InternalError(
                "ops.unloaded", f"a parameter of shape {list(self.shape)} is used before its weights were loaded"
            )
        return self._data

    def load(self, data: ConstantData) -> None:
        """Gives the parameter its values."""
        if data.shape != self.shape:
            raise InternalError(
                "ops.parameter_shape", f"'{data.name}' has shape {list(data.shape)}, expected {list(self.shape)}"
            )
        self._data = data


class Module:
    """A piece of a network with parameters and children; calling it runs `forward` under its name."""

    _name = ""

    def __setattr__(self, key: str, value: Any) -> None:
        if isinstance(value, Module) and not key.startswith("_"):
            value._name = key
        super().__setattr__(key, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with scope.named(self._name):
            return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The computation; each module defines its own."""
        raise NotImplementedError(type(self).__name__)

    def children(self) -> Iterator[tuple[str, Module]]:
        """Direct children in order of assignment."""
        for key, value in vars(self).items():
            if isinstance(value, Module) and not key.startswith("_"):
                yield key, value

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All parameters with their paths; a shared one comes once, under its first path."""
        seen: set[int] = set()
        for path, parameter in self._walk(prefix):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                yield path, parameter

    def _walk(self, prefix: str) -> Iterator[tuple[str, Parameter]]:
        for key, value in vars(self).items():
            if isinstance(value, Parameter):
                yield prefix + key, value
        for key, child in self.children():
            yield from child._walk(f"{prefix}{key}.")


class ModuleList(Module):
    """Children by number, as in `layers.0`."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._modules = list(modules)
        for index, module in enumerate(self._modules):
            module._name = str(index)

    def children(self) -> Iterator[tuple[str, Module]]:
        for index, module in enumerate(self._modules):
            yield str(index), module

    def run(self, index: int, *args: Any, **kwargs: Any) -> Any:
        """Calls one child under this list's name."""
        with scope.named(self._name):
            return self._modules[index](*args, **kwargs)

    def __len__(self) -> int:
        return len(self._modules)


class NetworkModule(Module):
    """The root of one component's network: declares its inputs, composes modules, names its outputs.

    `forward` takes the inputs as keywords and returns the outputs by name, in binding order.
    """

    def input_tensors(self) -> Sequence[TensorSpec]:
        """All network inputs, in binding order, with named dynamic dimensions."""
        raise NotImplementedError(type(self).__name__)

    def state_links(self) -> Sequence[StateLink]:
        """Outputs that share memory with an input (caches); none by default."""
        return ()
