"""Matrix products with constant weights, biases and table look-up."""

from __future__ import annotations

from typing import Any

from trtmc.core.weights import ConstantData
from trtmc.ops.lowering import elementwise
from trtmc.ops.lowering.api import trt
from trtmc.ops.lowering.network import NetworkLowering

__all__ = ["ConstantData", "add_bias", "embedding", "matmul_transposed"]


def matmul_transposed(net: NetworkLowering, x: Any, weight: ConstantData) -> Any:
    """x @ weight.T; the weight keeps the checkpoint's [out, in] layout and gets leading ones to reach x's rank."""
    matrix = net.constant(weight, (1,) * (len(x.shape) - 2) + weight.shape)
    op = trt.MatrixOperation
    return net.output(net.network.add_matrix_multiply(x, op.NONE, matrix, op.TRANSPOSE), "matmul")


def add_bias(net: NetworkLowering, x: Any, bias: ConstantData) -> Any:
    """x + bias over the last dimension."""
    vector = net.constant(bias, (1,) * (len(x.shape) - 1) + bias.shape)
    return elementwise.binary(net, x, vector, trt.ElementWiseOperation.SUM, "bias")


def embedding(net: NetworkLowering, ids: Any, table: ConstantData) -> Any:
    """Rows of a table by index."""
    return net.output(net.network.add_gather(net.constant(table), ids, 0), "gather")
