"""Linear, Embedding and RMSNorm, named and shaped as in PyTorch."""

from __future__ import annotations

from trtmc.ops import Module, Parameter, Tensor
from trtmc.ops import functional as F


class Linear(Module):
    """y = x @ weight.T + bias."""

    def __init__(self, in_features: int, out_features: int, bias: bool = False) -> None:
        self.weight = Parameter(out_features, in_features)
        self.bias = Parameter(out_features) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class Embedding(Module):
    """Rows of a table by id."""

    def __init__(self, num_embeddings: int, width: int) -> None:
        self.weight = Parameter(num_embeddings, width)

    def forward(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.weight)


class RMSNorm(Module):
    """Root-mean-square norm over the last dimension, statistics in float32."""

    def __init__(self, width: int, eps: float) -> None:
        self.weight = Parameter(width)
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.weight, self.eps)
