"""One function per OpenVINO operation that lowerings use: inputs, attributes and result types in one place.

Knows each operation's opset and attribute names (the lowering tests run every one of them on OpenVINO); nothing about
TensorRT.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Model, Value

F32, I64, BOOLEAN = ElementType.F32, ElementType.I64, ElementType.BOOLEAN


class Ops:
    """Thin emitters over a `Model`; each returns the operation's value (a tuple if there are several)."""

    def __init__(self, model: Model) -> None:
        self.model = model

    # constants
    def array(self, array: np.ndarray, type: ElementType | None = None) -> Value:
        """A small constant from numpy; the type follows the array's."""
        array = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
        flat = array.reshape(-1).view(np.uint8)
        return self.model.constant([flat], type or _OF_NUMPY[array.dtype], array.shape)

    def i64(self, *values: int) -> Value:
        """A 1-D int64 constant."""
        return self.array(np.array(values, np.int64))

    def index(self, value: int) -> Value:
        """An int64 scalar."""
        return self.array(np.array(value, np.int64))

    def f32(self, value: float) -> Value:
        """A float32 scalar."""
        return self.array(np.array(value, np.float32))

    # elementwise
    def unary(self, type: str, x: Value, version: str = "opset1", **attributes: Attribute) -> Value:
        """An operation with one input and a result of the same type."""
        return self.model.add(type, [x], [x.type], attributes, version).value()

    def binary(self, type: str, a: Value, b: Value, result: ElementType | None = None) -> Value:
        """An elementwise operation with numpy broadcasting."""
        return self.model.add(type, [a, b], [result or a.type], {"auto_broadcast": "numpy"}).value()

    def add(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.binary("Add", a, b)

    def subtract(self, a: Value, b: Value) -> Value:
        """a - b."""
        return self.binary("Subtract", a, b)

    def multiply(self, a: Value, b: Value) -> Value:
        """a * b."""
        return self.binary("Multiply", a, b)

    def divide(self, a: Value, b: Value) -> Value:
        """Integers divide as TensorRT's do: towards zero."""
        attributes: dict[str, Attribute] = {"auto_broadcast": "numpy", "m_pythondiv": False}
        return self.model.add("Divide", [a, b], [a.type], attributes).value()

    def compare(self, type: str, a: Value, b: Value) -> Value:
        """Less, LessEqual, Equal, Greater ..."""
        return self.binary(type, a, b, BOOLEAN)

    def logical(self, type: str, a: Value, b: Value) -> Value:
        """LogicalAnd, LogicalOr, LogicalXor."""
        return self.binary(type, a, b, BOOLEAN)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """condition ? a : b, with broadcasting."""
        return self.model.add("Select", [condition, a, b], [a.type], {"auto_broadcast": "numpy"}).value()

    def convert(self, x: Value, type: ElementType) -> Value:
        """A conversion; none if the type is right already."""
        if x.type is type:
            return x
        return self.model.add("Convert", [x], [type], {"destination_type": type}).value()

    # shapes
    def shape_of(self, x: Value) -> Value:
        """The shape as int64."""
        return self.model.add("ShapeOf", [x], [I64], {"output_type": I64}, "opset3").value()

    def dim(self, x: Value, axis: int) -> Value:
        """One dimension as an int64 scalar."""
        return self.gather(self.shape_of(x), self.index(axis), 0)

    def reshape(self, x: Value, shape: Value, zero_copies: bool = False) -> Value:
        """One -1 is inferred; with `zero_copies` a 0 keeps the input's size."""
        return self.model.add("Reshape", [x, shape], [x.type], {"special_zero": zero_copies}).value()

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Permutes dimensions."""
        return self.model.add("Transpose", [x, self.i64(*order)], [x.type]).value()

    def squeeze(self, x: Value, axes: Value) -> Value:
        """Drops dimensions of size one."""
        return self.model.add("Squeeze", [x, axes], [x.type]).value()

    def unsqueeze(self, x: Value, axes: Value) -> Value:
        """Inserts dimensions of size one; axes count in the result."""
        return self.model.add("Unsqueeze", [x, axes], [x.type]).value()

    def concat(self, values: Sequence[Value], axis: int) -> Value:
        """Joins along an axis."""
        return self.model.add("Concat", values, [values[0].type], {"axis": axis}).value()

    def broadcast(self, x: Value, shape: Value, bidirectional: bool = False) -> Value:
        """To a shape; bidirectional: to the broadcast of both shapes."""
        mode = "bidirectional" if bidirectional else "numpy"
        return self.model.add("Broadcast", [x, shape], [x.type], {"mode": mode}, "opset3").value()

    def range(self, start: Value, stop: Value, step: Value, type: ElementType = I64) -> Value:
        """start, start + step, ... before stop."""
        return self.model.add("Range", [start, stop, step], [type], {"output_type": type}, "opset4").value()

    def slice(self, x: Value, start: Value, stop: Value, step: Value, axes: Value) -> Value:
        """Half-open ranges along the axes; negative numbers count from the end."""
        return self.model.add("Slice", [x, start, stop, step, axes], [x.type], {}, "opset8").value()

    # indexing
    def gather(self, x: Value, indices: Value, axis: int, batch_dims: int = 0) -> Value:
        """Slices along an axis by index, per batch element if `batch_dims` says so."""
        inputs = [x, indices, self.index(axis)]
        return self.model.add("Gather", inputs, [x.type], {"batch_dims": batch_dims}, "opset8").value()

    def gather_elements(self, x: Value, indices: Value, axis: int) -> Value:
        """Single elements along an axis."""
        return self.model.add("GatherElements", [x, indices], [x.type], {"axis": axis}, "opset6").value()

    def gather_nd(self, x: Value, indices: Value, batch_dims: int) -> Value:
        """Slices by coordinate tuples."""
        return self.model.add("GatherND", [x, indices], [x.type], {"batch_dims": batch_dims}, "opset8").value()

    def scatter_elements(self, x: Value, indices: Value, updates: Value, axis: int) -> Value:
        """x with single elements replaced."""
        inputs = [x, indices, updates, self.index(axis)]
        return self.model.add("ScatterElementsUpdate", inputs, [x.type], {}, "opset3").value()

    def scatter_nd(self, x: Value, indices: Value, updates: Value) -> Value:
        """x with slices replaced, by coordinate tuples."""
        return self.model.add("ScatterNDUpdate", [x, indices, updates], [x.type], {}, "opset4").value()

    # linear algebra, reductions
    def matmul(self, a: Value, b: Value, transpose_a: bool = False, transpose_b: bool = False) -> Value:
        """Matrix product over the last two dimensions."""
        attributes = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        return self.model.add("MatMul", [a, b], [a.type], attributes).value()

    def einsum(self, values: Sequence[Value], equation: str) -> Value:
        """Einstein summation."""
        return self.model.add("Einsum", values, [values[0].type], {"equation": equation}, "opset7").value()

    def reduce(self, type: str, x: Value, axes: Sequence[int], keep_dims: bool) -> Value:
        """ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd."""
        return self.model.add(type, [x, self.i64(*axes)], [x.type], {"keep_dims": keep_dims}).value()

    def softmax(self, x: Value, axis: int) -> Value:
        """Along one axis."""
        return self.model.add("Softmax", [x], [x.type], {"axis": axis}, "opset8").value()

    def cumsum(self, x: Value, axis: Value, exclusive: bool, reverse: bool) -> Value:
        """A running sum; the axis is a scalar."""
        attributes = {"exclusive": exclusive, "reverse": reverse}
        return self.model.add("CumSum", [x, axis], [x.type], attributes, "opset3").value()

    def top_k(self, x: Value, k: Value, axis: int, largest: bool, index_type: ElementType) -> tuple[Value, Value]:
        """Values and indices, sorted by value; equal values keep the order of their indices."""
        attributes: dict[str, Attribute] = {
            "axis": axis,
            "mode": "max" if largest else "min",
            "sort": "value",
            "index_element_type": index_type,
            "stable": True,
        }
        layer = self.model.add("TopK", [x, k], [x.type, index_type], attributes, "opset11")
        return layer.value(0), layer.value(1)

    def attention(self, q: Value, k: Value, v: Value, mask: Value, scale: Value) -> Value:
        """softmax(q k^T * scale + mask) v over [batch, heads, rows, width]."""
        inputs = [q, k, v, mask, scale]
        return self.model.add("ScaledDotProductAttention", inputs, [q.type], {"causal": False}, "opset13").value()


_OF_NUMPY = {
    np.dtype(np.float32): ElementType.F32,
    np.dtype(np.float16): ElementType.F16,
    np.dtype(np.int64): ElementType.I64,
    np.dtype(np.int32): ElementType.I32,
    np.dtype(np.int8): ElementType.I8,
    np.dtype(np.uint8): ElementType.U8,
    np.dtype(np.bool_): ElementType.BOOLEAN,
}
