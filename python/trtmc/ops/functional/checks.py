"""Shape and type checks shared by the functional ops; every failure names the op and the module it ran in."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError
from trtmc.ops.scope import current
from trtmc.ops.tensor import Dim, Shape, Tensor


def require(condition: bool, op: str, message: str) -> None:
    """Raises unless `condition` holds."""
    if not condition:
        raise failure(op, message)


def failure(op: str, message: str) -> InternalError:
    """The error of an op in the running module."""
    return InternalError("ops.shape", f"{op} in {current().where or 'the network'}: {message}")


def same_dtype(op: str, *tensors: Tensor) -> DType:
    """The one type of all tensors."""
    kinds = {t.dtype for t in tensors}
    require(len(kinds) == 1, op, f"operands must have one type, found {', '.join(map(str, tensors))}")
    return tensors[0].dtype


def broadcast(op: str, a: Tensor, b: Tensor) -> Shape:
    """Result shape of equal-rank broadcasting: sizes agree or are 1."""
    require(a.rank == b.rank, op, f"operands must have one rank, found {a} and {b}")
    return tuple(_broadcast_dim(op, x, y, a, b) for x, y in zip(a.shape, b.shape, strict=True))


def _broadcast_dim(op: str, x: Dim, y: Dim, a: Tensor, b: Tensor) -> Dim:
    require(x == y or 1 in (x, y), op, f"shapes do not broadcast: {a} and {b}")
    return y if x == 1 else x
