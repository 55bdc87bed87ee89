"""Fill layers: linear spaces, and random values.

TensorRT documents no generator for its random fills, only the distributions: uniform over [alpha, beta), normal with
mean alpha and standard deviation beta. Here they come from OpenVINO's generator, seeded by the layer's name, so that
every load of a network draws the same values in the same order.
"""

from __future__ import annotations

import math
import zlib

import numpy as np

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule, operand_type


def fill(low: Lowering, node: Node) -> None:
    """Shape from the attribute or input 0; alpha and beta from attributes or inputs 1 and 2."""
    given = node.input(0)
    if given is not None:
        dims = low.ops.convert(low.value(given), ElementType.I64)
    else:
        dims = low.dims_value(node.attributes["shape"])
    operation = node.attributes["operation"]
    if operation == "LINSPACE":
        low.put(node.output, _linear(low, node, dims))
        return
    alpha, beta = (_scalar(low, node.input(i), node.attributes[key]) for i, key in ((1, "alpha"), (2, "beta")))
    if operation == "RANDOM_UNIFORM":
        low.put(node.output, _uniform(low, node, dims, alpha, beta, 1))
    elif operation == "RANDOM_NORMAL":
        low.put(node.output, low.ops.add(low.ops.multiply(_normal(low, node, dims), beta), alpha))
    else:
        raise low.refusal(node, f"fill operation {operation}")


def _linear(low: Lowering, node: Node, dims: Value) -> Value:
    """alpha plus beta per step along each dimension."""
    o, type = low.ops, operand_type(node.output.dtype)
    storage = np.float32 if type is ElementType.F32 else node.output.dtype.storage
    starts, steps, rank = node.input(1), node.input(2), node.output.rank
    start = low.value(starts) if starts is not None else o.array(np.array(node.attributes["alpha"], storage))
    if steps is None:
        step = o.array(np.full(1, node.attributes["beta"], storage))
    else:
        step = o.reshape(low.value(steps), low.dims_value((-1,)))
    if steps is None and rank > 1:
        raise low.refusal(node, "a linear fill of several dimensions needs its steps as input 2")
    value = o.reshape(o.convert(start, type), low.dims_value((1,) * rank))
    for axis in range(rank):
        count = o.gather(dims, o.index(axis), 0)
        along = o.convert(o.range(o.index(0), count, o.index(1)), type)
        scaled = o.multiply(along, o.gather(o.convert(step, type), o.i64(axis if steps is not None else 0), 0))
        spread = [d for d in range(rank) if d != axis]
        value = o.add(value, o.unsqueeze(scaled, o.i64(*spread)) if spread else scaled)
    return value


def _scalar(low: Lowering, given: Tensor | None, value: float) -> Value:
    if given is None:
        return low.ops.f32(float(value))
    return low.ops.reshape(low.widened(given), low.dims_value(()))


def _uniform(low: Lowering, node: Node, dims: Value, lowest: Value, end: Value, stream: int) -> Value:
    attributes: dict[str, Attribute] = {
        "output_type": ElementType.F32,
        "global_seed": zlib.crc32(node.name.encode()) or 1,  # 0 and 0 would mean another seed in every run
        "op_seed": stream,
    }
    return low.model.add("RandomUniform", [dims, lowest, end], [ElementType.F32], attributes, "opset8").value()


def _normal(low: Lowering, node: Node, dims: Value) -> Value:
    """Box and Muller's transform of two uniform draws; the first never is zero."""
    o = low.ops
    radius, angle = (_uniform(low, node, dims, o.f32(0.0), o.f32(1.0), stream) for stream in (1, 2))
    radius = o.unary("Sqrt", o.multiply(o.unary("Log", o.subtract(o.f32(1.0), radius)), o.f32(-2.0)))
    return o.multiply(radius, o.unary("Cos", o.multiply(angle, o.f32(2 * math.pi))))


RULES: dict[str, Rule] = {"FILL": fill}
