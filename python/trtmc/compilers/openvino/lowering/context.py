"""What a lowering rule sees: tensors it has values for, constants it can read, and ways to emit or refuse.

A rule is a function `(Lowering, Node) -> None` that gives each output of the node a value with `put`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.ir.model import ElementType, Model, Value
from trtmc.compilers.openvino.ir.ops import Ops
from trtmc.core.dtype import COMPUTE_DTYPES, DType
from trtmc.core.errors import Unsupported

Rule = Callable[["Lowering", Node], None]

STORAGE_TYPES = {
    DType.F32: ElementType.F32,
    DType.F16: ElementType.F16,
    DType.BF16: ElementType.BF16,
    DType.I64: ElementType.I64,
    DType.I32: ElementType.I32,
    DType.I8: ElementType.I8,
    DType.U8: ElementType.U8,
    DType.BOOL: ElementType.BOOLEAN,
    DType.I4: ElementType.I4,
    DType.F8_E4M3: ElementType.F8E4M3,
    DType.F8_E8M0: ElementType.F8E8M0,
    DType.F4_E2M1: ElementType.F4E2M1,
}
NARROW_FLOATS = {DType.F8_E4M3: 448.0, DType.F4_E2M1: 6.0, DType.F8_E8M0: 2.0**127}
"""Floats that only conversions and quantization touch -> the largest finite value: conversions saturate there."""
_INT32, _INT64 = 2**31, np.iinfo(np.int64)
_COMPRESSED = 65536  # 16-bit constants of at least this many elements stay 16-bit in memory


class Lowering:
    """The state of one walk."""

    def __init__(self, model: Model, walk: Callable[[Lowering, Graph], None]) -> None:
        self.model = model
        self.ops = Ops(model)
        self.walk = walk  # emits all nodes of a graph; rules of layers with graphs inside call it on a `nested` walk
        self._values: dict[int, Value] = {}
        self._memo: dict[Hashable, Value] = {}

    def nested(self, name: str) -> Lowering:
        """A walk over a graph inside a layer: values of its own, the same blob."""
        return Lowering(self.model.child(name), self.walk)

    # values
    def put(self, tensor: Tensor, value: Value) -> None:
        """Records the value of a node's output."""
        self._values[id(tensor)] = value

    def value(self, tensor: Tensor) -> Value:
        """The value of a tensor; a constant is emitted when it is first read."""
        known = self._values.get(id(tensor))
        if known is None and tensor.constant is not None:
            self._check_range(tensor, tensor.constant)
            known = self.literal(tensor.constant)
            self.put(tensor, known)
        if known is None:
            raise KeyError(f"tensor '{tensor.name}' has no value yet")
        return known

    def _check_range(self, tensor: Tensor, data: ConstantData) -> None:
        """The plugin computes 64-bit integers in 32 bits. The ends of int64 stand for "without bound" in slices: cut to
        32 bits they still do."""
        if data.dtype is not DType.I64 or data.size == 0 or tensor.producer is None:
            return
        values = data.as_numpy()
        beyond = values[(np.abs(values) > _INT32) & (values != _INT64.max) & (values > _INT64.min + 1)]
        if beyond.size:
            raise self.refusal(
                tensor.producer, f"the value {int(beyond.reshape(-1)[0])}; the CPU computes 64-bit integers in 32 bits"
            )

    def args(self, node: Node) -> list[Value]:
        """The values of all inputs, which must all be there."""
        return [self.value(node.required(i)) for i in range(len(node.inputs))]

    def literal(self, data: ConstantData) -> Value:
        """A constant as an operand: floats come out as float32, large 16-bit ones through a decompressing convert."""
        if data.dtype not in COMPUTE_DTYPES:
            if data.dtype not in STORAGE_TYPES:
                raise Unsupported("network.constant_type", f"a {data.dtype} constant can't be an operand on the CPU")
            return self.stored(data, STORAGE_TYPES[data.dtype], data.shape)
        if data.dtype is DType.F32:
            return self.stored(data, ElementType.F32, data.shape)
        if data.size < _COMPRESSED and data.external is None:
            return self.ops.array(data.as_float32())
        return self.once(("compressed", data.address, data.shape), lambda: self._compressed(data))

    def stored(self, data: ConstantData, type: ElementType, shape: Sequence[int]) -> Value:
        """The bytes of a constant as they are: in the engine's blob, or from outside when the engine is loaded."""
        if data.external is None:
            return self.model.constant([data.raw], type, shape)
        return self.model.weight(data.external, type, shape)

    def _compressed(self, data: ConstantData) -> Value:
        stored = self.stored(data, STORAGE_TYPES[data.dtype], data.shape)
        layer = self.model.add("Convert", [stored], [ElementType.F32], {"destination_type": ElementType.F32})
        layer.decompression = True  # else the plugin expands the weights to 32 bit
        return layer.value()

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """A subexpression that several nodes share."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]

    def widened(self, tensor: Tensor) -> Value:
        """A tensor of any numeric type as float32."""
        return self.ops.convert(self.value(tensor), ElementType.F32)

    def narrowed(self, x: Value, dtype: DType) -> Value:
        """float32 to a narrow float, to the nearest, saturating; NaN stays NaN, or -0 in a type that has none."""
        o, largest = self.ops, NARROW_FLOATS[dtype]
        clamped = o.binary("Minimum", o.binary("Maximum", x, o.f32(-largest)), o.f32(largest))
        is_nan = self.model.add("IsNaN", [x], [ElementType.BOOLEAN], {}, "opset10").value()
        clamped = o.select(is_nan, o.f32(-0.0 if dtype is DType.F4_E2M1 else float("nan")), clamped)
        return o.convert(self._nearest(clamped, STORAGE_TYPES[dtype]), STORAGE_TYPES[dtype])

    def _nearest(self, x: Value, type: ElementType) -> Value:
        """x rounded to a value of a narrow type. The plugin converts by way of float16, so that a value just off the
        middle of two becomes a tie: the neighbour on x's other side is compared, which is exact in float32."""
        o = self.ops

        def converted(value: Value) -> Value:
            return o.convert(o.convert(value, type), ElementType.F32)

        first = converted(x)
        error = o.subtract(x, first)
        other = converted(o.add(x, o.multiply(error, o.f32(0.5))))
        nearer = o.compare("Less", o.unary("Abs", o.subtract(x, other)), o.unary("Abs", error))
        return o.select(nearer, other, first)

    # reading constants
    def ints(self, tensor: Tensor | None, node: Node, what: str) -> tuple[int, ...]:
        """The integers of a constant input; refuses if they are only known at run time."""
        data = tensor.constant if tensor is not None else None
        if data is None:
            raise self.refusal(node, f"its {what} must be a constant")
        return data.as_ints()

    def axes(self, node: Node, tensor: Tensor | None, rank: int) -> tuple[int, ...]:
        """Axes from a constant input, made non-negative."""
        return tuple(a + rank if a < 0 else a for a in self.ints(tensor, node, "axes"))

    # emitting
    def dims_value(self, dims: Sequence[int]) -> Value:
        """A static shape as a 1-D constant."""
        return self.ops.array(np.array(dims, np.int64))

    @staticmethod
    def refusal(node: Node, why: str) -> Unsupported:
        """The error for a layer that this version can't lower; raise it."""
        return Unsupported(
            "network.unsupported_layer", f"layer '{node.name}' ({node.kind}): {why}; not supported on the CPU target"
        )


def operand_type(dtype: DType) -> ElementType:
    """The type in which a tensor of this dtype is computed; the walk has refused the others."""
    if dtype is DType.I4:
        return ElementType.I8
    return ElementType.F32 if dtype in COMPUTE_DTYPES else STORAGE_TYPES[dtype]
