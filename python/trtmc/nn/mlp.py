"""The gated MLP of Llama-like decoders."""

from __future__ import annotations

from trtmc.nn.basic import Linear
from trtmc.ops import Module, Tensor
from trtmc.ops import functional as F


class GatedMLP(Module):
    """down(act(gate(x)) * up(x)); `act` is a config name such as "silu"."""

    def __init__(self, hidden: int, intermediate: int, act: str, bias: bool = False) -> None:
        self.gate_proj = Linear(hidden, intermediate, bias)
        self.up_proj = Linear(hidden, intermediate, bias)
        self.down_proj = Linear(intermediate, hidden, bias)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.activation(self.gate_proj(x), self.act) * self.up_proj(x))
