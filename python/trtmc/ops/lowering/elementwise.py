"""Elementwise layers, casts and activations."""

from __future__ import annotations

from typing import Any

from trtmc.core.dtype import DType
from trtmc.ops.lowering.api import FROM_TRT, TO_TRT, trt
from trtmc.ops.lowering.network import NetworkLowering

_OP = trt.ElementWiseOperation
_ACT = trt.ActivationType


def binary(net: NetworkLowering, a: Any, b: Any, op: Any, name: str) -> Any:
    return net.output(net.network.add_elementwise(a, b, op), name)


def add(net: NetworkLowering, a: Any, b: Any) -> Any:
    return binary(net, a, b, _OP.SUM, "add")


def sub(net: NetworkLowering, a: Any, b: Any) -> Any:
    return binary(net, a, b, _OP.SUB, "sub")


def mul(net: NetworkLowering, a: Any, b: Any) -> Any:
    return binary(net, a, b, _OP.PROD, "mul")


def div(net: NetworkLowering, a: Any, b: Any) -> Any:
    return binary(net, a, b, _OP.DIV, "div")


def sqrt(net: NetworkLowering, x: Any) -> Any:
    return net.output(net.network.add_unary(x, trt.UnaryOperation.SQRT), "sqrt")


def cast(net: NetworkLowering, x: Any, dtype: DType) -> Any:
    return x if x.dtype == TO_TRT[dtype] else net.output(net.network.add_cast(x, TO_TRT[dtype]), f"cast_{dtype}")


def sigmoid(net: NetworkLowering, x: Any) -> Any:
    return _activation(net, x, _ACT.SIGMOID, "sigmoid")


def tanh(net: NetworkLowering, x: Any) -> Any:
    return _activation(net, x, _ACT.TANH, "tanh")


def relu(net: NetworkLowering, x: Any) -> Any:
    return _activation(net, x, _ACT.RELU, "relu")


def gelu_erf(net: NetworkLowering, x: Any) -> Any:
    return _activation(net, x, _ACT.GELU_ERF, "gelu_erf")


def gelu_tanh(net: NetworkLowering, x: Any) -> Any:
    return _activation(net, x, _ACT.GELU_TANH, "gelu_tanh")


def silu(net: NetworkLowering, x: Any) -> Any:
    return mul(net, x, sigmoid(net, x))


def quick_gelu(net: NetworkLowering, x: Any) -> Any:
    steep = mul(net, x, net.scalar(1.702, FROM_TRT[x.dtype], len(x.shape)))
    return mul(net, x, sigmoid(net, steep))


def mish(net: NetworkLowering, x: Any) -> Any:
    """x * tanh(log(1 + exp(x))); the exponential needs float32's range."""
    layer = net.network.add_activation(cast(net, x, DType.F32), _ACT.SOFTPLUS)
    layer.alpha = layer.beta = 1.0
    gate = tanh(net, net.output(layer, "softplus"))
    return mul(net, x, cast(net, gate, FROM_TRT[x.dtype]))


def _activation(net: NetworkLowering, x: Any, kind: Any, name: str) -> Any:
    return net.output(net.network.add_activation(x, kind), name)
