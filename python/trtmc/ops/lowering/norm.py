"""Normalisation layers; TensorRT has no RMS mode, so it is composed, in float32."""

from __future__ import annotations

from typing import Any

from trtmc.core.dtype import DType
from trtmc.core.weights import ConstantData
from trtmc.ops.lowering import elementwise as ew
from trtmc.ops.lowering.api import FROM_TRT, trt
from trtmc.ops.lowering.network import NetworkLowering


def rms_norm(net: NetworkLowering, x: Any, weight: ConstantData, eps: float) -> Any:
    """Float32 up to the division: in half precision the square of anything above 255 would overflow."""
    rank, dtype = len(x.shape), FROM_TRT[x.dtype]
    wide = ew.cast(net, x, DType.F32)
    square = ew.mul(net, wide, wide)
    mean = net.output(net.network.add_reduce(square, trt.ReduceOperation.AVG, 1 << (rank - 1), True), "mean")
    root = ew.sqrt(net, ew.add(net, mean, net.scalar(eps, DType.F32, rank)))
    normal = ew.cast(net, ew.div(net, wide, root), dtype)
    return ew.mul(net, normal, net.constant(weight, (1,) * (rank - 1) + weight.shape))
