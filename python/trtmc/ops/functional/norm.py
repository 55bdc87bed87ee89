"""Normalisation. Statistics are always computed in float32, whatever the network's type."""

from __future__ import annotations

from trtmc.ops.functional.checks import require
from trtmc.ops.functional.linear import use
from trtmc.ops.lowering import norm as lower
from trtmc.ops.module import Parameter
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor


def rms_norm(x: Tensor, weight: Parameter, eps: float) -> Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension; weight [x.shape[-1]]."""
    require(weight.shape == (x.shape[-1],), "rms_norm", f"weight {list(weight.shape)} does not match {x}")
    return Tensor(x.dtype, x.shape, lower.rms_norm(current().lowering, x.handle, use(weight), eps))
