"""Fills a module's parameters from a checkpoint, by name."""

from __future__ import annotations

from collections.abc import Mapping

from trtmc.core.weights import WeightSource
from trtmc.ops.module import Module


def load_parameters(module: Module, source: WeightSource, *, reasons: Mapping[str, str] | None = None) -> None:
    """Loads every parameter from the tensor of the same name; all missing ones are reported at once, before any work.

    `reasons` adds a sentence to the error for a name that deserves one.
    """
    parameters = list(module.named_parameters())
    source.require((name for name, _ in parameters), reasons)
    for name, parameter in parameters:
        parameter.load(source.take(name, parameter.shape, parameter.dtype))
