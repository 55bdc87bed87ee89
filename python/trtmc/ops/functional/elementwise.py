"""Arithmetic, casts and activations. Operands must have one type and rank; use `cast` on purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trtmc.core.dtype import DType
from trtmc.ops.functional.checks import broadcast, require, same_dtype
from trtmc.ops.lowering import elementwise as lower
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b."""
    return _binary("add", lower.add, a, b)


def sub(a: Tensor, b: Tensor) -> Tensor:
    """a - b."""
    return _binary("sub", lower.sub, a, b)


def mul(a: Tensor, b: Tensor) -> Tensor:
    """a * b."""
    return _binary("mul", lower.mul, a, b)


def div(a: Tensor, b: Tensor) -> Tensor:
    """a / b."""
    return _binary("div", lower.div, a, b)


def cast(x: Tensor, dtype: DType) -> Tensor:
    """x in another type; x itself if it already has it."""
    return x if x.dtype is dtype else Tensor(dtype, x.shape, lower.cast(current().lowering, x.handle, dtype))


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x)."""
    return activation(x, "silu")


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Exact GELU, or its tanh approximation with `approximate="tanh"`."""
    require(approximate in ("none", "tanh"), "gelu", f"approximate must be 'none' or 'tanh', found {approximate!r}")
    return activation(x, "gelu" if approximate == "none" else "gelu_pytorch_tanh")


def relu(x: Tensor) -> Tensor:
    """max(x, 0)."""
    return activation(x, "relu")


ACTIVATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "silu": lower.silu,
    "swish": lower.silu,
    "gelu": lower.gelu_erf,
    "gelu_new": lower.gelu_tanh,
    "gelu_pytorch_tanh": lower.gelu_tanh,
    "quick_gelu": lower.quick_gelu,
    "relu": lower.relu,
    "mish": lower.mish,
    "sigmoid": lower.sigmoid,
    "tanh": lower.tanh,
}
"""Activation by the name that configs use (`hidden_act`)."""


def activation(x: Tensor, name: str) -> Tensor:
    """An activation by its config name."""
    require(name in ACTIVATIONS, "activation", f"{name!r} is not implemented; known are {', '.join(ACTIVATIONS)}")
    return Tensor(x.dtype, x.shape, ACTIVATIONS[name](current().lowering, x.handle))


def _binary(op: str, build: Callable[[Any, Any, Any], Any], a: Tensor, b: Tensor) -> Tensor:
    dtype, shape = same_dtype(op, a, b), broadcast(op, a, b)
    return Tensor(dtype, shape, build(current().lowering, a.handle, b.handle))
