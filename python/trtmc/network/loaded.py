"""A finished TensorRT network together with everything that must live as long as it does.

Knows how to create an empty network and collects what TensorRT logs meanwhile; nothing about where layers come from.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import tensorrt_rtx as trt

from trtmc.compilers.openvino.plain_network import PlainNetwork


class QuietLogger(trt.ILogger):
    """Keeps errors and warnings instead of printing them."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: trt.ILogger.Severity, message: str) -> None:
        """Called by TensorRT."""
        if severity <= trt.ILogger.ERROR:
            self.errors.append(message)

    def taken(self) -> list[str]:
        """The errors since the last call."""
        errors, self.errors = self.errors, []
        return errors


@cache
def logger() -> QuietLogger:
    """One per process: TensorRT keeps the first logger that it sees anyway."""
    return QuietLogger()


@cache
def _builder() -> trt.Builder:
    return trt.Builder(logger())


def empty_network() -> trt.INetworkDefinition:
    """A strongly typed network without layers."""
    return _builder().create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))


@dataclass
class LoadedNetwork:
    """`network`, where it came from, and the owners of its constants' memory."""

    network: trt.INetworkDefinition
    origin: str
    keepalive: Any = None

    def source(self) -> PlainNetwork:
        """What a compiler takes."""
        return PlainNetwork(self.network, (self.keepalive, self.network))
