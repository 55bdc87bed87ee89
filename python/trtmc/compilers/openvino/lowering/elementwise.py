"""Unary, binary, activation, select and cast layers: everything that works element by element."""

from __future__ import annotations

import numpy as np

from trtmc.compilers.openvino.graph.graph import Node
from trtmc.compilers.openvino.ir.model import ElementType, Value
from trtmc.compilers.openvino.lowering.context import NARROW_FLOATS, Lowering, Rule, operand_type
from trtmc.core.dtype import COMPUTE_DTYPES, DType

_UNARY = {
    "LOG": "Log",
    "SQRT": "Sqrt",
    "ABS": "Abs",
    "NEG": "Negative",
    "SIN": "Sin",
    "COS": "Cos",
    "TAN": "Tan",
    "SINH": "Sinh",
    "COSH": "Cosh",
    "ASIN": "Asin",
    "ACOS": "Acos",
    "ATAN": "Atan",
    "CEIL": "Ceiling",
    "FLOOR": "Floor",
    "ERF": "Erf",
    "SIGN": "Sign",
}
_UNARY_LATER = {"ASINH": ("Asinh", "opset4"), "ACOSH": ("Acosh", "opset4"), "ATANH": ("Atanh", "opset4")}
_BINARY = {"SUM": "Add", "PROD": "Multiply", "MAX": "Maximum", "MIN": "Minimum", "SUB": "Subtract", "POW": "Power"}
_LOGICAL = {"AND": "LogicalAnd", "OR": "LogicalOr", "XOR": "LogicalXor"}
_COMPARE = {"EQUAL": "Equal", "GREATER": "Greater", "LESS": "Less"}


def unary(low: Lowering, node: Node) -> None:
    """ROUND rounds halves to even; RECIP is 1/x."""
    x, op = low.value(node.required(0)), node.attributes["op"]
    if op == "EXP":  # the plugin's gives infinity for NaN
        is_nan = low.model.add("IsNaN", [x], [ElementType.BOOLEAN], {}, "opset10").value()
        y = low.ops.select(is_nan, x, low.ops.unary("Exp", x))
    elif op in _UNARY:
        y = low.ops.unary(_UNARY[op], x)
    elif op in _UNARY_LATER:
        type, version = _UNARY_LATER[op]
        y = low.ops.unary(type, x, version)
    elif op == "RECIP":
        y = low.ops.divide(low.ops.f32(1.0), x)
    elif op == "NOT":
        y = low.ops.unary("LogicalNot", x)
    elif op == "ROUND":
        y = low.ops.unary("Round", x, "opset5", mode="half_to_even")
    elif op == "ISNAN":  # not by comparing: the plugin's comparisons hold for NaN
        y = low.model.add("IsNaN", [x], [ElementType.BOOLEAN], {}, "opset10").value()
    elif op == "ISINF":
        both = {"detect_negative": True, "detect_positive": True}
        y = low.model.add("IsInf", [x], [ElementType.BOOLEAN], both, "opset10").value()
    else:
        raise low.refusal(node, f"operation {op}")
    low.put(node.output, y)


def elementwise(low: Lowering, node: Node) -> None:
    """Integers divide towards zero (DIV) or down (FLOOR_DIV)."""
    left, right, op = node.required(0), node.required(1), node.attributes["op"]
    a, b = low.value(left), low.value(right)
    is_float = left.dtype in COMPUTE_DTYPES
    if op == "PROD" and left is right and is_float:
        y = low.ops.binary("Power", a, low.ops.f32(2.0))  # the form that the plugin's RMS fusion looks for
    elif op in _BINARY:
        y = low.ops.binary(_BINARY[op], a, b)
    elif op in _LOGICAL:
        y = low.ops.logical(_LOGICAL[op], a, b)
    elif op in _COMPARE:
        y = low.ops.compare(_COMPARE[op], a, b)
    elif op == "DIV" and is_float:
        y = low.ops.divide(a, b)
    elif op == "FLOOR_DIV" and is_float:
        y = low.ops.unary("Floor", low.ops.divide(a, b))
    elif op in ("DIV", "FLOOR_DIV"):
        y = _integer_divide(low, a, b, down=op == "FLOOR_DIV")
    else:
        raise low.refusal(node, f"operation {op}")
    low.put(node.output, y)


def _integer_divide(low: Lowering, a: Value, b: Value, down: bool) -> Value:
    """Quotient towards zero, less one where the signs differ and something is left over, if rounding down."""
    quotient = low.ops.divide(a, b)
    if not down:
        return quotient
    zero = low.ops.array(np.array(0, np.int64 if a.type is ElementType.I64 else np.int32))
    left = low.ops.subtract(a, low.ops.multiply(quotient, b))
    inexact = low.ops.compare("NotEqual", left, zero)
    differ = low.ops.logical("LogicalXor", low.ops.compare("Less", left, zero), low.ops.compare("Less", b, zero))
    step = low.ops.convert(low.ops.logical("LogicalAnd", inexact, differ), a.type)
    return low.ops.subtract(quotient, step)


def activation(low: Lowering, node: Node) -> None:
    """`alpha` and `beta` as TensorRT documents them for each kind."""
    x, kind = low.value(node.required(0)), node.attributes["type"]
    alpha, beta = float(node.attributes["alpha"]), float(node.attributes["beta"])
    o = low.ops
    simple = {"RELU": "Relu", "SIGMOID": "Sigmoid", "TANH": "Tanh"}
    if kind in simple:
        y = o.unary(simple[kind], x)
    elif kind == "LEAKY_RELU":
        y = o.select(o.compare("Less", x, o.f32(0.0)), o.multiply(x, o.f32(alpha)), x)
    elif kind == "ELU":
        y = o.unary("Elu", x, alpha=alpha)
    elif kind == "SELU":
        y = o.multiply(o.unary("Elu", x, alpha=alpha), o.f32(beta))
    elif kind == "SOFTSIGN":
        y = o.divide(x, o.add(o.unary("Abs", x), o.f32(1.0)))
    elif kind == "SOFTPLUS":
        y = o.multiply(o.unary("SoftPlus", o.multiply(x, o.f32(beta)), "opset4"), o.f32(alpha))
    elif kind == "CLIP":
        y = o.binary("Minimum", o.binary("Maximum", x, o.f32(alpha)), o.f32(beta))
    elif kind == "HARD_SIGMOID":
        line = o.add(o.multiply(x, o.f32(alpha)), o.f32(beta))
        y = o.binary("Maximum", o.binary("Minimum", line, o.f32(1.0)), o.f32(0.0))
    elif kind == "SCALED_TANH":
        y = o.multiply(o.unary("Tanh", o.multiply(x, o.f32(beta))), o.f32(alpha))
    elif kind == "THRESHOLDED_RELU":
        y = o.select(o.compare("Greater", x, o.f32(alpha)), x, o.f32(0.0))
    elif kind in ("GELU_ERF", "GELU_TANH"):
        y = o.unary("Gelu", x, "opset7", approximation_mode="erf" if kind == "GELU_ERF" else "tanh")
    else:
        raise low.refusal(node, f"activation {kind}")
    low.put(node.output, y)


def select(low: Lowering, node: Node) -> None:
    """condition ? a : b with broadcasting."""
    condition, a, b = low.args(node)
    low.put(node.output, low.ops.select(condition, a, b))


def cast(low: Lowering, node: Node) -> None:
    """Between float types nothing happens; to bool is "differs from zero"; float to integer cuts the fraction off."""
    source, target = node.required(0), node.output.dtype
    x = low.value(source)
    if target is DType.BOOL and source.dtype is not DType.BOOL:
        zero = low.ops.f32(0.0) if source.dtype in COMPUTE_DTYPES else low.ops.array(np.zeros((), source.dtype.storage))
        low.put(node.output, low.ops.compare("NotEqual", x, zero))
        return
    if target in NARROW_FLOATS and source.dtype is not target:
        low.put(node.output, low.narrowed(low.ops.convert(x, ElementType.F32), target))
        return
    if target is DType.I4 and source.dtype is not DType.I4:  # the low four bits, as in ONNX; TensorRT has no such cast
        eight, wide = low.ops.array(np.array(8, np.int32)), low.ops.convert(x, ElementType.I32)
        wrapped = low.ops.binary("FloorMod", low.ops.add(wide, eight), low.ops.array(np.array(16, np.int32)))
        x = low.ops.subtract(wrapped, eight)
    low.put(node.output, low.ops.convert(x, operand_type(target)))


def parametric_relu(low: Lowering, node: Node) -> None:
    """x where it is not negative, else x times the slopes."""
    x, slopes = low.args(node)
    negative = low.ops.compare("Less", x, low.ops.f32(0.0))
    low.put(node.output, low.ops.select(negative, low.ops.multiply(x, slopes), x))


def identity(low: Lowering, node: Node) -> None:
    """IDENTITY passes its input on; with another output type it converts."""
    cast(low, node)


RULES: dict[str, Rule] = {
    "UNARY": unary,
    "ELEMENTWISE": elementwise,
    "ACTIVATION": activation,
    "SELECT": select,
    "PARAMETRIC_RELU": parametric_relu,
    "CAST": cast,
    "IDENTITY": identity,
}
