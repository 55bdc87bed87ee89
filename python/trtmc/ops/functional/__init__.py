"""Free functions by meaning, PyTorch names where PyTorch has them. None says how an op is lowered.

from trtmc.ops import functional as F
y = F.silu(F.linear(x, weight))
"""

from trtmc.ops.functional.attention import attention, kv_cache_update
from trtmc.ops.functional.elementwise import ACTIVATIONS, activation, add, cast, div, gelu, mul, relu, silu, sub
from trtmc.ops.functional.linear import embedding, linear
from trtmc.ops.functional.norm import rms_norm
from trtmc.ops.functional.rotary import rotary_embedding
from trtmc.ops.functional.shape import flatten, gather_rows, merge_heads, split_heads, swap_heads, unflatten_last

__all__ = [
    "ACTIVATIONS",
    "activation",
    "add",
    "attention",
    "cast",
    "div",
    "embedding",
    "flatten",
    "gather_rows",
    "gelu",
    "kv_cache_update",
    "linear",
    "merge_heads",
    "mul",
    "relu",
    "rms_norm",
    "rotary_embedding",
    "silu",
    "split_heads",
    "sub",
    "swap_heads",
    "unflatten_last",
]
