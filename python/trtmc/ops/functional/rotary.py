"""Rotary position embedding from tables that are computed once, at build time."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.core.weights import ConstantData
from trtmc.ops.functional.checks import require
from trtmc.ops.lowering import rotary as lower
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor


def rotary_embedding(
    x: Tensor, cos: ConstantData, sin: ConstantData, position_ids: Tensor, *, interleaved: bool = False
) -> Tensor:
    """Rotates x [batch, heads, sequence, D] by position; tables [positions, D/2], position_ids int64 [batch, sequence].

    Not interleaved means that the first half of D pairs with the second half, as in Llama.
    """
    require(x.rank == 4, "rotary_embedding", f"expected [batch, heads, sequence, head_dim], found {x}")
    require(position_ids.dtype is DType.I64, "rotary_embedding", f"positions must be int64, found {position_ids}")
    require(
        cos.shape == sin.shape and cos.shape[1] * 2 == x.shape[3],
        "rotary_embedding",
        f"tables {list(cos.shape)} do not match {x}",
    )
    require(cos.dtype is x.dtype, "rotary_embedding", f"tables are {cos.dtype}, the input is {x}")
    handle = lower.rotary_embedding(current().lowering, x.handle, cos, sin, position_ids.handle, interleaved)
    return Tensor(x.dtype, x.shape, handle)
