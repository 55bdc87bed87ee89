"""Matrix multiplication and einsum against numpy, with weights of every float type."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, compile_network, run
from trtmc.core.dtype import DType

MM = trt.MatrixOperation
RNG = np.random.default_rng(1)


@pytest.mark.parametrize(
    "ops", [("NONE", "NONE"), ("TRANSPOSE", "NONE"), ("NONE", "TRANSPOSE"), ("TRANSPOSE", "TRANSPOSE")]
)
def test_matrices(ops: tuple[str, str]) -> None:
    a, b = RNG.standard_normal((2, 3, 4)).astype(np.float32), RNG.standard_normal((1, 4, 5)).astype(np.float32)
    stored = [x.swapaxes(1, 2).copy() if op == "TRANSPOSE" else x for x, op in zip((a, b), ops, strict=True)]

    def define(net: TestNetwork) -> None:
        left, right = (net.input(n, DType.F32, (-1, *x.shape[1:])) for n, x in zip("ab", stored, strict=True))
        net.output("y", net.trt.add_matrix_multiply(left, getattr(MM, ops[0]), right, getattr(MM, ops[1])))

    np.testing.assert_allclose(run(define, a=stored[0], b=stored[1])["y"], a @ b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("a", "b", "expected"), [("v", "M", "kn"), ("M", "v", "nk"), ("v", "v", "dot")])
def test_vectors(a: str, b: str, expected: str) -> None:
    vector, matrix = RNG.standard_normal((2, 4)).astype(np.float32), RNG.standard_normal((2, 4, 3)).astype(np.float32)
    left = vector if a == "v" else matrix.swapaxes(1, 2).copy()
    right = vector if b == "v" else matrix

    def define(net: TestNetwork) -> None:
        x, y = net.input("a", DType.F32, left.shape), net.input("b", DType.F32, right.shape)
        ops = [MM.VECTOR if k == "v" else MM.NONE for k in (a, b)]
        net.output("y", net.trt.add_matrix_multiply(x, ops[0], y, ops[1]))

    want = {
        "kn": np.einsum("bk,bkn->bn", vector, matrix),
        "nk": np.einsum("bkn,bk->bn", matrix, vector),
        "dot": np.einsum("bk,bk->b", vector, vector),
    }
    np.testing.assert_allclose(run(define, a=left, b=right)["y"], want[expected], rtol=1e-5, atol=1e-6)


def _narrowed(x: np.ndarray, dtype: DType) -> np.ndarray:
    """bfloat16 by truncation, in uint16."""
    return (x.view(np.uint32) >> 16).astype(np.uint16) if dtype is DType.BF16 else x.astype(dtype.storage)


def _widened(x: np.ndarray, dtype: DType) -> np.ndarray:
    return (x.astype(np.uint32) << 16).view(np.float32) if dtype is DType.BF16 else x.astype(np.float32)


def test_bfloat16_outputs_come_back_as_their_bits() -> None:
    def define(net: TestNetwork) -> None:
        x = net.input("x", DType.BF16, (-1, 2))
        net.output("y", net.trt.add_elementwise(x, x, trt.ElementWiseOperation.SUM))

    assert run(define, x=np.array([[0x3F80, 0xC040]], np.uint16))["y"].tolist() == [[0x4000, 0xC0C0]]


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_large_constant_weights_are_exact_and_stay_narrow(dtype: DType) -> None:
    """The decompression mark is what keeps 16-bit weights 16-bit; without it speed and memory silently suffer."""
    w = RNG.standard_normal((256, 512)).astype(np.float32)
    x = RNG.standard_normal((1, 2, 512)).astype(np.float32)
    stored = _narrowed(w, dtype)
    exact = _widened(stored, dtype)

    def define(net: TestNetwork) -> None:
        given = net.input("x", dtype, (1, -1, 512))
        weight = net.const(stored, dtype, (1, 256, 512))
        wide = net.trt.add_cast(
            net.trt.add_matrix_multiply(given, MM.NONE, weight, MM.TRANSPOSE).get_output(0), trt.float32
        )
        net.output("y", wide)

    text = compile_network(define, kernels="openvino").text
    assert text.count(b'name="decompression"') == (dtype is not DType.F32)
    assert b'shape="256, 512"' in text, "leading ones of a weight must go"
    given = _narrowed(x, dtype)
    np.testing.assert_allclose(run(define, x=given)["y"], _widened(given, dtype) @ exact.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("equation", ["ij,jk->ik", "bij,bkj->bik", "bhqd,bhkd->bhqk"])
def test_einsum(equation: str) -> None:
    sizes = dict(zip("bhijkqd", (2, 3, 4, 5, 6, 4, 5), strict=True))
    terms = equation.split("->")[0].split(",")
    arrays = [RNG.standard_normal([sizes[c] for c in t]).astype(np.float32) for t in terms]

    def define(net: TestNetwork) -> None:
        tensors = [net.input(n, DType.F32, a.shape) for n, a in zip("ab", arrays, strict=True)]
        net.output("y", net.trt.add_einsum(tensors, equation))

    got = run(define, a=arrays[0], b=arrays[1])["y"]
    np.testing.assert_allclose(got, np.einsum(equation, *arrays), rtol=1e-5, atol=1e-5)
