"""Dynamic quantization against the numpy oracle: NVFP4, MXFP8, blocks of two dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported
from trtmc.testing.oracles.floats import pack
from trtmc.testing.oracles.quantize import dynamic_quantize, power_of_two_above

RNG = np.random.default_rng(12)
TYPES = {"fp4": trt.DataType.FP4, "fp8": trt.DataType.FP8, "e8m0": trt.DataType.E8M0, "float": trt.DataType.FLOAT}


def _values(rows: int = 6, columns: int = 64) -> np.ndarray:
    """Rows of very different sizes, one of them zero."""
    x = RNG.standard_normal((rows, columns)) * 10.0 ** RNG.integers(-6, 5, (rows, 1))
    x[2] = 0
    return x.astype(np.float32)


def _layer(net: TestNetwork, x: Any, block: tuple[int, ...], kind: str, scale: str, second: float, old: bool) -> Any:
    if old:
        layer = net.trt.add_dynamic_quantize(x, 1, block[1], TYPES[kind], TYPES[scale])
    else:
        layer = net.trt.add_dynamic_quantize_v2(x, trt.Dims(block), TYPES[kind], TYPES[scale])
    if scale == "fp8":
        layer.set_input(1, net.const(np.array(second, np.float32)))
    return layer


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize(
    ("kind", "scale", "block", "second"),
    [("fp4", "fp8", (1, 16), 0.01), ("fp4", "fp8", (1, 16), 1.0), ("fp8", "e8m0", (1, 32), 1.0)],
)
def test_values_and_scales(old: bool, kind: str, scale: str, block: tuple[int, int], second: float) -> None:
    x = _values()

    def define(net: TestNetwork) -> None:
        layer = _layer(net, net.input("x", DType.F32, x.shape), block, kind, scale, second, old)
        net.output("q", layer, 0)
        net.output("s", layer, 1)

    y = run(define, x=x)
    q, stored, _ = dynamic_quantize(x, block, kind, scale, second)
    np.testing.assert_array_equal(y["s"], stored)
    np.testing.assert_array_equal(y["q"], pack(q) if kind == "fp4" else q)


def test_blocks_of_two_dimensions_with_float_scales() -> None:
    x = _values()

    def define(net: TestNetwork) -> None:
        layer = _layer(net, net.input("x", DType.F32, x.shape), (3, 16), "fp8", "float", 1.0, False)
        net.output("q", layer, 0)
        net.output("s", layer, 1)

    y = run(define, x=x)
    q, stored, _ = dynamic_quantize(x, (3, 16), "fp8", "float")
    np.testing.assert_allclose(y["s"], stored, rtol=2e-7)
    assert (y["q"] != q).mean() < 0.01, "a last bit of a float scale moves few values"


def test_there_and_back_with_a_dynamic_number_of_rows() -> None:
    """As a model has it: quantize, then dequantize by the block scales, then those by the second scale."""
    x = RNG.standard_normal((5, 32)).astype(np.float32)

    def define(net: TestNetwork) -> None:
        second = net.const(np.array(0.02, np.float32))
        layer = net.trt.add_dynamic_quantize(net.input("x", DType.F32, (-1, 32)), 1, 16, TYPES["fp4"], TYPES["fp8"])
        layer.set_input(1, second)
        scales = net.trt.add_dequantize(layer.get_output(1), second, trt.float32).get_output(0)
        net.output("s", scales)

    _, _, factor = dynamic_quantize(x, (1, 16), "fp4", "fp8", 0.02)
    np.testing.assert_array_equal(run(define, x=x)["s"], factor[:, ::16])


def test_powers_of_two_round_up_exactly() -> None:
    powers = np.exp2(np.arange(-100.0, 100)).astype(np.float32)
    ideal = np.concatenate([powers, np.nextafter(powers, np.float32(0)), np.nextafter(powers, np.float32(1e38))])
    x = np.zeros((ideal.size, 32), np.float32)
    x[:, 7] = ideal * np.float32(448)

    def define(net: TestNetwork) -> None:
        net.output("s", _layer(net, net.input("x", DType.F32, x.shape), (1, 32), "fp8", "e8m0", 1.0, True), 1)

    found = np.exp2(run(define, x=x)["s"][:, 0].astype(np.float64) - 127)
    exact = (x[:, 7] / np.float32(448)).astype(np.float32)
    np.testing.assert_array_equal(found, power_of_two_above(exact))
    assert (found >= exact).all()
    assert (found / 2 < exact).all()


def test_blocks_that_do_not_divide_are_refused() -> None:
    x = np.zeros((6, 64), np.float32)

    def define(net: TestNetwork) -> None:
        layer = _layer(net, net.input("x", DType.F32, (6, 64)), (4, 16), "fp8", "float", 1.0, False)
        net.output("s", layer, 1)

    with pytest.raises(
        Unsupported, match=r"\(DYNAMIC_QUANTIZE\): blocks of \[4, 16\] over an input of shape \[6, 64\]"
    ):
        run(define, x=x)
