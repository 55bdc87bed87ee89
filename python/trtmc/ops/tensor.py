"""The symbolic Tensor: type, named shape and an opaque handle into the network being built.

Holds no numbers. Operators do what they do in PyTorch, except that types never promote silently: mixing them is an
error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trtmc.core.dtype import DType

Dim = int | str
"""A size, or the name of one that is only known at run time; products of names are written "batch*sequence"."""

Shape = tuple[Dim, ...]


@dataclass(frozen=True, eq=False)
class Tensor:
    """A value inside a network; made by `trtmc.ops.functional` and by the inputs of a NetworkModule."""

    dtype: DType
    shape: Shape
    handle: Any

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __add__(self, other: Tensor) -> Tensor:
        from trtmc.ops.functional import elementwise

        return elementwise.add(self, other)

    def __sub__(self, other: Tensor) -> Tensor:
        from trtmc.ops.functional import elementwise

        return elementwise.sub(self, other)

    def __mul__(self, other: Tensor) -> Tensor:
        from trtmc.ops.functional import elementwise

        return elementwise.mul(self, other)

    def __truediv__(self, other: Tensor) -> Tensor:
        from trtmc.ops.functional import elementwise

        return elementwise.div(self, other)

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


def product(dims: Shape) -> Dim:
    """The size of several dimensions together: a number, or a name such as "batch*sequence"."""
    number, names = 1, []
    for dim in dims:
        if isinstance(dim, int):
            number *= dim
        else:
            names.append(dim)
    if not names:
        return number
    return "*".join(names if number == 1 else [str(number), *names])
