"""Four-bit inputs and outputs: packed bytes outside, the right values inside."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

INT4 = np.arange(-8, 7, dtype=np.int8).reshape(3, 5)  # an odd number of values
CODES = np.arange(15, dtype=np.uint8).reshape(3, 5)


def _packed(codes: np.ndarray) -> np.ndarray:
    flat = np.append(codes.reshape(-1).view(np.uint8) & 15, np.zeros(codes.size % 2, np.uint8))
    return flat[0::2] | flat[1::2] << 4


def _scaled(dtype: DType, shape: tuple[int, ...]) -> object:
    def define(net: TestNetwork) -> None:
        half = net.const(np.array(0.5, np.float32))
        net.output("y", net.trt.add_dequantize(net.input("x", dtype, shape), half, trt.float32))

    return define


@pytest.mark.parametrize(
    ("dtype", "codes", "values"),
    [
        (DType.I4, INT4, INT4.astype(np.float32)),
        (DType.F4_E2M1, CODES, CODES.view(ml_dtypes.float4_e2m1fn).astype(np.float32)),
    ],
)
def test_inputs(dtype: DType, codes: np.ndarray, values: np.ndarray) -> None:
    y = run(_scaled(dtype, codes.shape), x=_packed(codes))["y"]
    np.testing.assert_array_equal(y, values * np.float32(0.5))
    assert (np.signbit(y) == np.signbit(values)).all()


@pytest.mark.parametrize(("kind", "rich"), [("int4", None), ("fp4", ml_dtypes.float4_e2m1fn)])
def test_outputs(kind: str, rich: type | None) -> None:
    x = np.array([[-9, -8, -2.5, -0.5, -0.1], [0, 0.26, 0.75, 1.25, 2.5], [3.5, 5, 6, 7, 100]], np.float32)

    def define(net: TestNetwork) -> None:
        one = net.const(np.array(1.0, np.float32))
        net.output("y", net.trt.add_quantize(net.input("x", DType.F32, x.shape), one, getattr(trt, kind)))

    if rich is None:
        expected = np.clip(np.rint(x), -8, 7).astype(np.int8)
    else:
        expected = np.clip(x, -6, 6).astype(rich).view(np.uint8)
    np.testing.assert_array_equal(run(define, x=x)["y"], _packed(expected))


def test_a_dynamic_shape_is_refused() -> None:
    with pytest.raises(Unsupported, match="input 'x' has type int4 and a dynamic shape") as caught:
        run(_scaled(DType.I4, (-1, 4)), x=np.zeros(2, np.uint8))
    assert caught.value.code == "network.input_type"
