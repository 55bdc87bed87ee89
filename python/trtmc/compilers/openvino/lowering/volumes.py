"""GRID_SAMPLE over volumes, which OpenVINO has for images only: gathers of the corners around each point, weighted.

Grid coordinates run from -1 to 1 and name the last spatial dimension first.
"""

from __future__ import annotations

from functools import reduce
from itertools import product

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering


def sample_volume(low: Lowering, node: Node) -> Value:
    """[n, c, d, h, w] read at [n, d', h', w', 3] -> [n, c, d', h', w']."""
    a = node.attributes
    if a["interpolation_mode"] == "CUBIC":
        raise low.refusal(node, "cubic interpolation of volumes")
    o, x, grid = low.ops, low.value(node.required(0)), low.value(node.required(1))
    sizes = [o.convert(o.dim(x, axis), ElementType.F32) for axis in (2, 3, 4)]
    points = [_pixel(low, node, o.gather(grid, o.index(2 - i), 4), size) for i, size in enumerate(sizes)]
    if a["sample_mode"] == "REFLECT":
        points = [_reflected(low, node, p, size) for p, size in zip(points, sizes, strict=True)]
    if a["interpolation_mode"] == "NEAREST":
        return _read(low, node, x, [o.unary("Round", p, "opset5", mode="half_to_even") for p in points], sizes)
    terms: list[Value] = []
    lower = [o.unary("Floor", p) for p in points]
    parts = [o.subtract(p, f) for p, f in zip(points, lower, strict=True)]
    for corner in product((0, 1), repeat=3):
        at = [o.add(f, o.f32(1.0)) if up else f for f, up in zip(lower, corner, strict=True)]
        weights = [w if up else o.subtract(o.f32(1.0), w) for w, up in zip(parts, corner, strict=True)]
        weight = o.multiply(o.multiply(weights[0], weights[1]), weights[2])
        terms.append(o.multiply(_read(low, node, x, at, sizes), o.unsqueeze(weight, o.i64(1))))
    return reduce(o.add, terms)


def _pixel(low: Lowering, node: Node, coordinate: Value, size: Value) -> Value:
    """-1 and 1 are the centres of the outermost voxels with `align_corners`, else their outer borders."""
    o, one = low.ops, low.ops.f32(1.0)
    half = o.multiply(o.add(coordinate, one), o.f32(0.5))
    if node.attributes["align_corners"]:
        return o.multiply(half, o.subtract(size, one))
    return o.subtract(o.multiply(half, size), o.f32(0.5))


def _reflected(low: Lowering, node: Node, p: Value, size: Value) -> Value:
    """Folded at the outermost centres with `align_corners`, else at the outer borders."""
    o = low.ops
    if node.attributes["align_corners"]:
        first, span = o.f32(0.0), o.subtract(size, o.f32(1.0))
    else:
        first, span = o.f32(-0.5), size
    span = o.binary("Maximum", span, o.f32(1e-6))
    period = o.multiply(span, o.f32(2.0))
    inner = o.binary("FloorMod", o.subtract(p, first), period)
    return o.add(o.binary("Minimum", inner, o.subtract(period, inner)), first)


def _read(low: Lowering, node: Node, x: Value, at: list[Value], sizes: list[Value]) -> Value:
    """Voxels at whole coordinates [n, d', h', w']; outside there is the nearest voxel, or zero with FILL."""
    o, one = low.ops, low.ops.f32(1.0)
    inside: list[Value] = []
    flat = o.f32(0.0)
    for point, size in zip(at, sizes, strict=True):
        last = o.subtract(size, one)
        held = o.binary("Minimum", o.binary("Maximum", point, o.f32(0.0)), last)
        inside.append(o.compare("Equal", held, point))
        flat = o.add(o.multiply(flat, size), held)
    shape = o.shape_of(flat)
    rows = o.reshape(o.convert(flat, ElementType.I64), o.i64(0, -1), zero_copies=True)
    voxels = o.transpose(o.reshape(x, o.i64(0, 0, -1), zero_copies=True), (0, 2, 1))
    picked = o.transpose(o.gather(voxels, rows, 1, 1), (0, 2, 1))
    target = o.concat([o.gather(o.shape_of(x), o.i64(0, 1), 0), o.gather(shape, o.i64(1, 2, 3), 0)], 0)
    value = o.reshape(picked, target)
    if node.attributes["sample_mode"] != "FILL":
        return value
    within = reduce(lambda a, b: o.logical("LogicalAnd", a, b), inside)
    return o.select(o.unsqueeze(within, o.i64(1)), value, o.f32(0.0))
