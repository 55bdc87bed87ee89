"""Convolution, pooling, padding, resize, scale, LRN and grid layers against loops in numpy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

RNG = np.random.default_rng(6)
Pair = tuple[int, int]


def _normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _convolved(
    x: np.ndarray, w: np.ndarray, stride: Pair, before: Pair, after: Pair, dilation: Pair, groups: int
) -> np.ndarray:
    x = np.pad(x, ((0, 0), (0, 0), (before[0], after[0]), (before[1], after[1])))
    span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    size = [(n - s) // t + 1 for n, s, t in zip(x.shape[2:], span, stride, strict=True)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per = w.shape[0] // groups
    for o, i, j in product(range(w.shape[0]), *map(range, size)):
        channels = slice((o // per) * w.shape[1], (o // per + 1) * w.shape[1])
        rows = slice(i * stride[0], i * stride[0] + span[0], dilation[0])
        columns = slice(j * stride[1], j * stride[1] + span[1], dilation[1])
        out[:, o, i, j] = (x[:, channels, rows, columns] * w[o]).sum((1, 2, 3))
    return out


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("as_input", [False, True])
def test_convolution(groups: int, as_input: bool) -> None:
    x, w, b = _normal(2, 4, 7, 6), _normal(6, 4 // groups, 3, 2), _normal(6)

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 4, 7, 6))
        kernel = trt.Weights() if as_input else w
        layer = net.trt.add_convolution_nd(given, 6, (3, 2), kernel, b)
        if as_input:
            layer.set_input(1, net.input("w", DType.F32, w.shape))
        layer.stride_nd, layer.dilation_nd, layer.num_groups = (2, 1), (1, 2), groups
        layer.pre_padding, layer.post_padding = (1, 0), (0, 1)
        net.output("y", layer)

    expected = _convolved(x, w, (2, 1), (1, 0), (0, 1), (1, 2), groups) + b[:, None, None]
    inputs = {"x": x, "w": w} if as_input else {"x": x}
    np.testing.assert_allclose(run(define, **inputs)["y"], expected, rtol=1e-4, atol=1e-5)


def test_convolution_same_upper() -> None:
    x, w = _normal(1, 2, 5, 5), _normal(3, 2, 2, 2)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_convolution_nd(net.input("x", DType.F32, (-1, 2, 5, 5)), 3, (2, 2), w)
        layer.padding_mode = trt.PaddingMode.SAME_UPPER
        net.output("y", layer)

    expected = _convolved(x, w, (1, 1), (0, 0), (1, 1), (1, 1), 1)
    np.testing.assert_allclose(run(define, x=x)["y"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("groups", [1, 2])
def test_deconvolution(groups: int) -> None:
    x, w = _normal(1, 4, 3, 4), _normal(4, 6 // groups, 3, 2)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_deconvolution_nd(net.input("x", DType.F32, (-1, 4, 3, 4)), 6, (3, 2), w)
        layer.stride_nd, layer.num_groups = (2, 1), groups
        layer.pre_padding, layer.post_padding = (1, 0), (0, 1)
        net.output("y", layer)

    full = np.zeros((1, 6, 7, 5))
    for c, o, i, j in product(range(4), range(6 // groups), range(3), range(4)):
        out = (c // (4 // groups)) * (6 // groups) + o
        full[0, out, 2 * i : 2 * i + 3, j : j + 2] += x[0, c, i, j] * w[c, o]
    np.testing.assert_allclose(run(define, x=x)["y"], full[:, :, 1:7, :4], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_deconvolution_same(mode: str) -> None:
    x, w = _normal(1, 2, 3, 4), _normal(2, 3, 4, 3)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_deconvolution_nd(net.input("x", DType.F32, (-1, 2, 3, 4)), 3, (4, 3), w)
        layer.stride_nd, layer.padding_mode = (1, 2), getattr(trt.PaddingMode, mode)
        net.output("y", layer)

    full = np.zeros((1, 3, 6, 9))
    for c, o, i, j in product(range(2), range(3), range(3), range(4)):
        full[0, o, i : i + 4, 2 * j : 2 * j + 3] += x[0, c, i, j] * w[c, o]
    rows, columns = (slice(1, 4), slice(0, 8)) if mode == "SAME_UPPER" else (slice(2, 5), slice(1, 9))
    np.testing.assert_allclose(run(define, x=x)["y"], full[:, :, rows, columns], rtol=1e-4, atol=1e-5)


def test_a_pooling_window_outside_of_the_input_is_refused() -> None:
    def define(net: TestNetwork) -> None:
        layer = net.trt.add_pooling_nd(net.input("x", DType.F32, (1, 1, 2, 2)), trt.PoolingType.MAX, (1, 1))
        layer.stride_nd, layer.padding_mode = (2, 2), trt.PaddingMode.EXPLICIT_ROUND_UP
        net.output("y", layer)

    with pytest.raises(Unsupported, match=r"\(POOLING\): a window that lies wholly outside of the input along axis 2"):
        run(define, x=_normal(1, 1, 2, 2))


@pytest.mark.parametrize("kind", ["MAX", "AVERAGE", "MAX_AVERAGE_BLEND"])
@pytest.mark.parametrize("exclusive", [True, False])
def test_pooling(kind: str, exclusive: bool) -> None:
    x = _normal(1, 2, 5, 6)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_pooling_nd(net.input("x", DType.F32, (-1, 2, 5, 6)), getattr(trt.PoolingType, kind), (3, 2))
        layer.stride_nd = (2, 2)
        layer.pre_padding, layer.post_padding = (1, 0), (1, 0)
        layer.average_count_excludes_padding = exclusive
        layer.blend_factor = 0.25
        net.output("y", layer)

    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0)), constant_values=np.nan)
    largest, mean = np.zeros((1, 2, 3, 3)), np.zeros((1, 2, 3, 3))
    for i, j in product(range(3), range(3)):
        part = padded[:, :, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2]
        largest[:, :, i, j] = np.nanmax(part, (2, 3))
        mean[:, :, i, j] = np.nanmean(part, (2, 3)) if exclusive else np.nansum(part, (2, 3)) / 6
    expected = {"MAX": largest, "AVERAGE": mean, "MAX_AVERAGE_BLEND": 0.75 * largest + 0.25 * mean}[kind]
    np.testing.assert_allclose(run(define, x=x)["y"], expected, rtol=1e-5, atol=1e-6)


def test_padding_adds_zeros_and_trims() -> None:
    x = _normal(1, 1, 3, 4)

    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_padding_nd(net.input("x", DType.F32, (-1, 1, 3, 4)), (1, -1), (0, 2)))

    expected = np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 2)))[..., 1:]
    np.testing.assert_array_equal(run(define, x=x)["y"], expected)


def _sampled(x: np.ndarray, size: int, coordinates: str) -> np.ndarray:
    """Linear interpolation along the last axis."""
    n = x.shape[-1]
    at = np.arange(size)
    if coordinates == "HALF_PIXEL":
        where = (at + 0.5) * n / size - 0.5
    elif coordinates == "ALIGN_CORNERS":
        where = at * (n - 1) / (size - 1)
    else:
        where = at * n / size
    where = np.clip(where, 0, n - 1)
    low = np.floor(where).astype(int)
    high, part = np.minimum(low + 1, n - 1), where - low
    return x[..., low] * (1 - part) + x[..., high] * part


@pytest.mark.parametrize("coordinates", ["HALF_PIXEL", "ALIGN_CORNERS", "ASYMMETRIC"])
def test_linear_resize(coordinates: str) -> None:
    x = _normal(1, 2, 4, 5)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_resize(net.input("x", DType.F32, (1, 2, 4, 5)))
        layer.resize_mode = trt.InterpolationMode.LINEAR
        layer.coordinate_transformation = getattr(trt.ResizeCoordinateTransformation, coordinates)
        layer.shape = (1, 2, 6, 7)
        net.output("y", layer)

    rows = _sampled(x.swapaxes(2, 3), 6, coordinates).swapaxes(2, 3)
    np.testing.assert_allclose(run(define, x=x)["y"], _sampled(rows, 7, coordinates), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("rounding", "expected"), [("FLOOR", [0, 0, 1, 1, 2]), ("CEIL", [0, 1, 2, 2, 2]), ("HALF_UP", [0, 1, 1, 2, 2])]
)
def test_nearest_resize_by_scale(rounding: str, expected: list[int]) -> None:
    x = np.arange(3, dtype=np.float32).reshape(1, 1, 1, 3)

    def define(net: TestNetwork) -> None:
        layer = net.trt.add_resize(net.input("x", DType.F32, (1, 1, 1, 3)))
        layer.resize_mode = trt.InterpolationMode.NEAREST
        layer.coordinate_transformation = trt.ResizeCoordinateTransformation.ASYMMETRIC
        layer.nearest_rounding = getattr(trt.ResizeRoundMode, rounding)
        layer.scales = [1, 1, 1, 5 / 3]
        net.output("y", layer)

    assert run(define, x=x)["y"].reshape(-1).tolist() == expected


@pytest.mark.parametrize("mode", ["UNIFORM", "CHANNEL", "ELEMENTWISE"])
def test_scale(mode: str) -> None:
    x = np.abs(_normal(2, 3, 2, 2))
    shape = {"UNIFORM": (1, 1, 1), "CHANNEL": (3, 1, 1), "ELEMENTWISE": (3, 2, 2)}[mode]
    shift, factor, power = (np.abs(_normal(*shape)) + 0.5 for _ in range(3))

    def define(net: TestNetwork) -> None:
        given = net.input("x", DType.F32, (-1, 3, 2, 2))
        flat = (net.keep(v.reshape(-1).copy()) for v in (shift, factor, power))
        net.output("y", net.trt.add_scale(given, getattr(trt.ScaleMode, mode), *flat))

    np.testing.assert_allclose(run(define, x=x)["y"], (x * factor + shift) ** power, rtol=1e-4)


def test_lrn() -> None:
    x = _normal(1, 5, 2, 2)

    def define(net: TestNetwork) -> None:
        net.output("y", net.trt.add_lrn(net.input("x", DType.F32, (-1, 5, 2, 2)), 3, 0.6, 0.75, 2.0))

    total = np.stack([(x[:, max(0, c - 1) : c + 2] ** 2).sum(1) for c in range(5)], 1)
    np.testing.assert_allclose(run(define, x=x)["y"], x / (2.0 + 0.6 / 3 * total) ** 0.75, rtol=1e-4)


def test_grid_sample_at_pixel_centres() -> None:
    x = _normal(1, 2, 3, 4)

    def define(net: TestNetwork) -> None:
        grid = net.input("g", DType.F32, (-1, 2, 2, 2))
        layer = net.trt.add_grid_sample(net.input("x", DType.F32, (-1, 2, 3, 4)), grid)
        layer.align_corners = True
        layer.sample_mode = trt.SampleMode.FILL
        net.output("y", layer)

    points = np.array([[[-1, -1], [1, -1]], [[1, 1], [9, 9]]], np.float32)[None]
    y = run(define, x=x, g=points)["y"]
    np.testing.assert_allclose(y[0, :, 0, 0], x[0, :, 0, 0], rtol=1e-5)
    np.testing.assert_allclose(y[0, :, 0, 1], x[0, :, 0, 3], rtol=1e-5)
    np.testing.assert_allclose(y[0, :, 1, 0], x[0, :, 2, 3], rtol=1e-5)
    assert y[0, :, 1, 1].tolist() == [0, 0]


def _voxel(x: np.ndarray, at: np.ndarray, mode: str, align: bool) -> np.ndarray:
    """All channels of one volume [c, d, h, w] at whole coordinates."""
    value = np.ones(x.shape[0])
    place = []
    for p, size in zip(at.tolist(), x.shape[1:], strict=True):
        if mode == "FILL" and not 0 <= p < size:
            value = np.zeros(x.shape[0])
        place.append(int(min(max(p, 0), size - 1)))
    return value * x[:, place[0], place[1], place[2]]


def _reflected(p: float, size: int, align: bool) -> float:
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    while not low <= p <= high:
        p = 2 * low - p if p < low else 2 * high - p
    return p


@pytest.mark.parametrize("mode", ["FILL", "CLAMP", "REFLECT"])
@pytest.mark.parametrize("align", [True, False])
@pytest.mark.parametrize("interpolation", ["LINEAR", "NEAREST"])
def test_grid_sample_of_volumes(mode: str, align: bool, interpolation: str) -> None:
    x, grid = _normal(2, 3, 4, 5, 6), RNG.uniform(-1.6, 1.6, (2, 2, 2, 3, 3)).astype(np.float32)

    def define(net: TestNetwork) -> None:
        given = (net.input("x", DType.F32, (-1, 3, 4, 5, 6)), net.input("g", DType.F32, (-1, 2, 2, 3, 3)))
        layer = net.trt.add_grid_sample(*given)
        layer.align_corners = align
        layer.sample_mode = getattr(trt.SampleMode, mode)
        layer.interpolation_mode = getattr(trt.InterpolationMode, interpolation)
        net.output("y", layer)

    expected = np.zeros((2, 3, 2, 2, 3))
    for n, i, j, k in np.ndindex(2, 2, 2, 3):
        at = []
        for c, size in zip(grid[n, i, j, k, ::-1].tolist(), x.shape[2:], strict=True):
            p = (c + 1) / 2 * (size - 1) if align else ((c + 1) * size - 1) / 2
            at.append(_reflected(p, size, align) if mode == "REFLECT" else p)
        where = np.array(at)
        if interpolation == "NEAREST":
            expected[n, :, i, j, k] = _voxel(x[n], np.rint(where), mode, align)
            continue
        for corner in product((0, 1), repeat=3):
            weight = np.prod([f if up else 1 - f for f, up in zip(where - np.floor(where), corner, strict=True)])
            expected[n, :, i, j, k] += weight * _voxel(x[n], np.floor(where) + corner, mode, align)
    np.testing.assert_allclose(run(define, x=x, g=grid)["y"], expected, rtol=1e-4, atol=1e-5)
