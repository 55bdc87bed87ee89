"""The gated MLP of Llama-like decoders."""

from __future__ import annotations

from trtmc.nn.basic import Linear
from trtmc.ops import Module, Tensor
from trtmc.ops import functional as F
from trtmc.ops.scope import named


class GatedMLP(Module):
    """down(act(gate(x)) * up(x)); `act` is a config name such as "silu"."""

    def __init__(self, hidden: int, intermediate: int, act: str, bias: bool = False) -> None:
        self.gate_proj = Linear(hidden, intermediate, bias)
        self.up_proj = Linear(hidden, intermediate, bias)
        self.down_proj = Linear(intermediate, hidden, bias)
        self.act = act

    def forward(self, x: Tensor) -> Tensor:
        gate = self.gate_proj(x)
        with named(f"hidden_act={self.act}"):  # a compiler that lacks it then refuses it by the config's own words
            gate = F.activation(gate, self.act)
        return self.down_proj(gate * self.up_proj(x))
