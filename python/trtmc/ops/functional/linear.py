"""Matrix products with weights, and table look-up."""

from __future__ import annotations

from trtmc.core.dtype import DType
from trtmc.ops.functional.checks import require
from trtmc.ops.lowering import linear as lower
from trtmc.ops.module import Parameter
from trtmc.ops.scope import current
from trtmc.ops.tensor import Tensor


def linear(x: Tensor, weight: Parameter, bias: Parameter | None = None) -> Tensor:
    """x @ weight.T + bias: x [..., in], weight [out, in], bias [out] -> [..., out]."""
    out_features, in_features = weight.shape
    require(x.shape[-1] == in_features, "linear", f"input {x} does not end in the weight's {in_features} columns")
    require(x.dtype is weight.data.dtype, "linear", f"input {x} and weight {weight.data.dtype} differ in type")
    net = current().lowering
    y = lower.matmul_transposed(net, x.handle, use(weight))
    if bias is not None:
        require(
            bias.shape == (out_features,), "linear", f"bias {list(bias.shape)} does not match {out_features} outputs"
        )
        y = lower.add_bias(net, y, use(bias))
    return Tensor(x.dtype, (*x.shape[:-1], out_features), y)


def embedding(ids: Tensor, weight: Parameter) -> Tensor:
    """Rows of weight [rows, width] by ids [...] -> [..., width]."""
    require(ids.dtype in (DType.I64, DType.I32), "embedding", f"ids must be integers, found {ids}")
    return Tensor(
        weight.data.dtype, (*ids.shape, weight.shape[1]), lower.embedding(current().lowering, ids.handle, use(weight))
    )


def use(parameter: Parameter) -> lower.ConstantData:
    """The data of a parameter, marked as read by the network."""
    parameter.used = True
    return parameter.data
