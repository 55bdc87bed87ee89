"""Tiny networks, one for each element type: x @ w with float16 activations and weights stored in that type.

plan_or_words(target, "fp8")  # -> (True, "") or (False, TensorRT's own words)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from trtmc.compilers.tensorrt.configuration import set_target
from trtmc.core.dtype import DType
from trtmc.core.target import TargetInfo
from trtmc.ops.lowering.api import TO_TRT, trt
from trtmc.ops.lowering.network import NetworkLowering

_SIZE = 64


class _Sink(trt.IStreamWriter):
    """Takes a plan and forgets it."""

    def __init__(self) -> None:
        trt.IStreamWriter.__init__(self)

    def write(self, data: bytes) -> int:
        return len(data)


def plan_or_words(target: TargetInfo, kind: str) -> tuple[bool, str]:
    """Whether TensorRT compiles the network of that type for the target, and what it said if not."""
    net = NetworkLowering()
    _NETWORKS[kind](net)
    config = net.builder.create_builder_config()
    set_target(config, target)
    built = net.builder.build_serialized_network_to_stream(net.network, config, _Sink())
    return bool(built), "; ".join(net.log.messages)


def kinds() -> tuple[str, ...]:
    """The types that can be measured."""
    return tuple(_NETWORKS)


def _constant(net: NetworkLowering, name: str, dtype: DType, shape: tuple[int, ...]) -> Any:
    """Values that mean nothing; 0x38 bytes are finite in every type."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.bits // 8
    raw = np.full(size, 0x38, np.uint8)
    net.keepalive.append(raw)
    layer = net.network.add_constant(shape, trt.Weights(TO_TRT[dtype], raw.ctypes.data, int(np.prod(shape))))
    return net.output(layer, name)


def _product(net: NetworkLowering, x: Any, weight: Any) -> None:
    op = trt.MatrixOperation.NONE
    net.mark_output("y", net.output(net.network.add_matrix_multiply(x, op, weight, op), "product"))


def _input(net: NetworkLowering, dtype: DType) -> Any:
    return net.network.add_input("x", TO_TRT[dtype], (8, _SIZE))


def _plain(dtype: DType) -> Callable[[NetworkLowering], None]:
    def define(net: NetworkLowering) -> None:
        _product(net, _input(net, dtype), _constant(net, "weight", dtype, (_SIZE, _SIZE)))

    return define


def _stored(dtype: DType, block: int | None = None) -> Callable[[NetworkLowering], None]:
    """Weights in `dtype` with float16 scales: one for all, or one for each block along the sum."""

    def define(net: NetworkLowering) -> None:
        x, weight = _input(net, DType.F16), _constant(net, "weight", dtype, (_SIZE, _SIZE))
        shape = () if block is None else (_SIZE // block, _SIZE)
        scale = _constant(net, "scale", DType.F16, shape)
        _product(net, x, net.output(net.network.add_dequantize(weight, scale, trt.float16), "dequantize"))

    return define


def _nvfp4(net: NetworkLowering) -> None:
    """Four-bit floats in blocks of 16, whose float8 scales have one scale of their own."""
    x, weight = _input(net, DType.F16), _constant(net, "weight", DType.F4_E2M1, (_SIZE, _SIZE))
    scales = _constant(net, "scales", DType.F8_E4M3, (_SIZE // 16, _SIZE))
    whole = _constant(net, "whole", DType.F16, ())
    scales = net.output(net.network.add_dequantize(scales, whole, trt.float16), "scales16")
    _product(net, x, net.output(net.network.add_dequantize(weight, scales, trt.float16), "dequantize"))


_NETWORKS: dict[str, Callable[[NetworkLowering], None]] = {
    "fp32": _plain(DType.F32),
    "fp16": _plain(DType.F16),
    "bf16": _plain(DType.BF16),
    "fp8": _stored(DType.F8_E4M3),
    "int8": _stored(DType.I8),
    "int4": _stored(DType.I4, 32),
    "fp4": _nvfp4,
}
