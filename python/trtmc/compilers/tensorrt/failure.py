"""What TensorRT said when it would not build a network, as one error with the layers that it names.

TensorRT reports through the builder's logger; only what was logged since `BuildLog` was made counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtmc.core.errors import Unsupported
from trtmc.core.target import TargetInfo

_NO_DRIVER = "catchCudaError"  # every failed build on a machine without a GPU ends in one of these


class BuildLog:
    """The builder's messages from now on."""

    def __init__(self, builder: Any) -> None:
        self._messages: list[str] = getattr(builder.logger, "messages", [])
        self._start = len(self._messages)

    @property
    def messages(self) -> list[str]:
        """Errors that TensorRT logged, each once; what it says of a missing driver only if there is no other."""
        found = list(dict.fromkeys(message.strip() for message in self._messages[self._start :]))
        return [message for message in found if _NO_DRIVER not in message] or found

    def failure(self, network: Any, target: TargetInfo, chosen: Mapping[str, str]) -> Unsupported:
        """The error to raise when a build gave nothing; `chosen` are the knobs it was given."""
        said = "; ".join(self.messages) or "it gave no reason"
        names = mentioned_layers(network, said)
        where = f" at layer {', '.join(repr(name) for name in names)}" if names else ""
        workspace = chosen["workspace_mib"]
        limited = f" with workspace_mib {workspace} (leave it out, or give more)" if workspace != "0" else ""
        return Unsupported(
            "compiler.tensorrt_refused",
            f"{target.compiler} {target.compiler_version} cannot compile this network for {target.name}{limited}"
            f"{where}; TensorRT says: {said}",
        )


def mentioned_layers(network: Any, text: str) -> list[str]:
    """Names of the network's layers that stand in TensorRT's words; longest first, no name inside another."""
    names = sorted((network.get_layer(i).name for i in range(network.num_layers)), key=len, reverse=True)
    found: list[str] = []
    for name in names:
        if name in text and not any(name in longer for longer in found):
            found.append(name)
    return found
