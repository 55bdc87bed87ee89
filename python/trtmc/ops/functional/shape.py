"""Reordering without arithmetic: heads, rows, flattening."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.ops.functional.checks import require
from trtmc.ops.lowering import shape as lower
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor, product


def unflatten_last(x: Tensor, groups: int) -> Tensor:
    """[B, T, groups*D] -> [B, T, groups, D]."""
    width = x.shape[-1]
    require(
        x.rank == 3 and isinstance(width, int) and width % groups == 0,
        "unflatten_last",
        f"{x} does not split into {groups} groups",
    )
    shape = (*x.shape[:-1], groups, width // groups)
    return Tensor(x.dtype, shape, lower.reshape(current().lowering, x.handle, (0, 0, groups, width // groups)))


def split_heads(x: Tensor, heads: int | None = None) -> Tensor:
    """[B, T, heads*D] or [B, T, heads, D] -> [B, heads, T, D]."""
    if x.rank == 3:
        require(heads is not None, "split_heads", f"{x} needs the number of heads")
        width = x.shape[2]
        require(isinstance(width, int) and width % heads == 0, "split_heads", f"{x} does not split into {heads} heads")
        batch, sequence, size = x.shape[0], x.shape[1], width // heads
        handle = lower.reshape(current().lowering, x.handle, (0, 0, heads, size), then=(0, 2, 1, 3))
        return Tensor(x.dtype, (batch, heads, sequence, size), handle)
    require(x.rank == 4, "split_heads", f"expected rank 3 or 4, found {x}")
    batch, sequence, heads, size = x.shape
    return Tensor(x.dtype, (batch, heads, sequence, size), lower.transpose(current().lowering, x.handle, (0, 2, 1, 3)))


def merge_heads(x: Tensor) -> Tensor:
    """[B, heads, T, D] -> [B, T, heads*D]."""
    require(x.rank == 4, "merge_heads", f"expected [batch, heads, sequence, head_dim], found {x}")
    batch, heads, sequence, size = x.shape
    handle = lower.reshape(current().lowering, x.handle, (0, 0, heads * size), first=(0, 2, 1, 3))
    return Tensor(x.dtype, (batch, sequence, heads * size), handle)


def flatten(x: Tensor) -> Tensor:
    """[B, T, H] -> [B*T, H]."""
    require(x.rank == 3, "flatten", f"expected [batch, sequence, width], found {x}")
    rows = product(x.shape[:2])
    return Tensor(x.dtype, (rows, x.shape[2]), lower.reshape(current().lowering, x.handle, (-1, x.shape[2])))


def gather_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of x [N, H] by int64 index [M] -> [M, H]."""
    require(x.rank == 2 and rows.rank == 1 and rows.dtype is DType.I64, "gather_rows", f"found {x} and {rows}")
    return Tensor(x.dtype, (rows.shape[0], x.shape[1]), lower.gather_rows(current().lowering, x.handle, rows.handle))
