"""Cases for which TensorRT defines another result than ONNX, each with the reason and the result to expect.

A case is put here only if the network that the parser made says so: never because a run came out differently.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Otherwise:
    """`expected` computes TensorRT's outputs from the case's inputs; None: ONNX's own, under another type."""

    reason: str
    expected: Callable[..., list[np.ndarray]] | None = None


OTHERWISE: dict[str, Otherwise] = {}
