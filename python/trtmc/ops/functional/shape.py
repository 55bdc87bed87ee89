"""Reordering without arithmetic: heads, rows, flattening."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.ops.functional.checks import failure, require
from trtmc.ops.lowering import shape as lower
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor, product


def unflatten_last(x: Tensor, groups: int) -> Tensor:
    """[B, T, groups*D] -> [B, T, groups, D]."""
    require(x.rank == 3, "unflatten_last", f"expected [batch, sequence, width], found {x}")
    size = _split("unflatten_last", x, groups)
    shape = (x.shape[0], x.shape[1], groups, size)
    return Tensor(x.dtype, shape, lower.reshape(current().lowering, x.handle, (0, 0, groups, size)))


def split_heads(x: Tensor, heads: int) -> Tensor:
    """[B, T, heads*D] -> [B, heads, T, D]."""
    require(x.rank == 3, "split_heads", f"expected [batch, sequence, width], found {x}")
    size = _split("split_heads", x, heads)
    handle = lower.reshape(current().lowering, x.handle, (0, 0, heads, size), then=(0, 2, 1, 3))
    return Tensor(x.dtype, (x.shape[0], heads, x.shape[1], size), handle)


def swap_heads(x: Tensor) -> Tensor:
    """[B, T, heads, D] -> [B, heads, T, D], or back."""
    require(x.rank == 4, "swap_heads", f"expected rank 4, found {x}")
    first, second, third, fourth = x.shape
    return Tensor(x.dtype, (first, third, second, fourth), lower.transpose(current().lowering, x.handle, (0, 2, 1, 3)))


def merge_heads(x: Tensor) -> Tensor:
    """[B, heads, T, D] -> [B, T, heads*D]."""
    require(x.rank == 4, "merge_heads", f"expected [batch, heads, sequence, head_dim], found {x}")
    width = _known("merge_heads", x, 1) * _known("merge_heads", x, 3)
    handle = lower.reshape(current().lowering, x.handle, (0, 0, width), first=(0, 2, 1, 3))
    return Tensor(x.dtype, (x.shape[0], x.shape[2], width), handle)


def flatten(x: Tensor) -> Tensor:
    """[B, T, H] -> [B*T, H]."""
    require(x.rank == 3, "flatten", f"expected [batch, sequence, width], found {x}")
    width = _known("flatten", x, 2)
    return Tensor(x.dtype, (product(x.shape[:2]), width), lower.reshape(current().lowering, x.handle, (-1, width)))


def gather_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Rows of x [N, H] by int64 index [M] -> [M, H]."""
    require(x.rank == 2 and rows.rank == 1 and rows.dtype is DType.I64, "gather_rows", f"found {x} and {rows}")
    return Tensor(x.dtype, (rows.shape[0], x.shape[1]), lower.gather_rows(current().lowering, x.handle, rows.handle))


def _known(op: str, x: Tensor, axis: int) -> int:
    size = x.shape[axis]
    if not isinstance(size, int):
        raise failure(op, f"dimension {axis} of {x} must be a number")
    return size


def _split(op: str, x: Tensor, parts: int) -> int:
    width = _known(op, x, 2)
    require(width % parts == 0, op, f"the width of {x} does not split into {parts}")
    return width // parts
