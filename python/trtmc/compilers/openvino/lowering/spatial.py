"""Layers over images and volumes, [batch, channels, spatial...]: convolution, pooling, padding, resize and the like."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule
from trtmc.compilers.openvino.lowering.volumes import sample_volume

_AUTO_PAD = {
    "EXPLICIT_ROUND_DOWN": "explicit",
    "EXPLICIT_ROUND_UP": "explicit",
    "SAME_UPPER": "same_upper",
    "SAME_LOWER": "same_lower",
}


def _window(low: Lowering, node: Node) -> dict[str, Attribute]:
    mode = node.attributes["padding_mode"]
    if mode not in _AUTO_PAD:
        raise low.refusal(node, f"padding mode {mode}")
    return {
        "strides": node.attributes["stride_nd"],
        "pads_begin": node.attributes["pre_padding"],
        "pads_end": node.attributes["post_padding"],
        "auto_pad": _AUTO_PAD[mode],
    }


def _filters(low: Lowering, node: Node, shape: Sequence[int]) -> Value:
    """The kernel, from the layer's own weights or from input 1, under the shape that the operation wants."""
    kernel = node.required(1)
    if kernel.constant is not None:
        return low.literal(kernel.constant.reshape(tuple(shape)))
    return low.ops.reshape(low.value(kernel), low.dims_value(shape))


def _with_bias(low: Lowering, node: Node, y: Value, rank: int) -> Value:
    bias = node.input(2)
    if bias is None:
        return y
    shape = low.dims_value((1, -1, *[1] * (rank - 2)))
    return low.ops.add(y, low.ops.reshape(low.value(bias), shape))


def convolution(low: Lowering, node: Node) -> None:
    """Correlation with [out, in/groups, window...] filters."""
    source, a = node.required(0), node.attributes
    if a["padding_mode"] == "EXPLICIT_ROUND_UP":
        raise low.refusal(node, "padding mode EXPLICIT_ROUND_UP")
    window = tuple(a["kernel_size_nd"])
    out, groups, channels = a["num_output_maps"], a["num_groups"], source.shape[1]
    attributes = {**_window(low, node), "dilations": a["dilation_nd"]}
    if groups == 1:
        type, shape = "Convolution", (out, channels, *window)
    else:
        type, shape = "GroupConvolution", (groups, out // groups, channels // groups, *window)
    inputs = [low.value(source), _filters(low, node, shape)]
    y = low.model.add(type, inputs, [ElementType.F32], attributes).value()
    low.put(node.output, _with_bias(low, node, y, source.rank))


def deconvolution(low: Lowering, node: Node) -> None:
    """The transpose of a convolution, with [in, out/groups, window...] filters."""
    source, a = node.required(0), node.attributes
    window = tuple(a["kernel_size_nd"])
    out, groups, channels = a["num_output_maps"], a["num_groups"], source.shape[1]
    attributes = {**_window(low, node), "dilations": a["dilation_nd"]}
    if a["padding_mode"].startswith("SAME"):
        attributes |= {"auto_pad": "explicit", **_trimmed_to_multiples(low, node)}
    if groups == 1:
        type, shape = "ConvolutionBackpropData", (channels, out, *window)
    else:
        type, shape = "GroupConvolutionBackpropData", (groups, channels // groups, out // groups, *window)
    inputs = [low.value(source), _filters(low, node, shape)]
    y = low.model.add(type, inputs, [ElementType.F32], attributes).value()
    low.put(node.output, _with_bias(low, node, y, source.rank))


def _trimmed_to_multiples(low: Lowering, node: Node) -> dict[str, Attribute]:
    """SAME: every output dimension is input times stride; of an odd number too many, UPPER trims more at the end."""
    a = node.attributes
    extra = [(k - 1) * d + 1 - s for k, d, s in zip(a["kernel_size_nd"], a["dilation_nd"], a["stride_nd"], strict=True)]
    if min(extra) < 0:
        raise low.refusal(node, "SAME padding with a stride that is wider than the window")
    less, more = [e // 2 for e in extra], [e - e // 2 for e in extra]
    before, after = (less, more) if a["padding_mode"] == "SAME_UPPER" else (more, less)
    return {"pads_begin": before, "pads_end": after}


def pooling(low: Lowering, node: Node) -> None:
    """MAX, AVERAGE, or a blend: (1 - factor) * max + factor * average."""
    x, a = low.value(node.required(0)), node.attributes
    _check_windows(low, node)
    attributes = {
        **_window(low, node),
        "kernel": a["window_size_nd"],
        "rounding_type": "ceil" if a["padding_mode"] == "EXPLICIT_ROUND_UP" else "floor",
    }

    def largest() -> Value:
        return low.model.add("MaxPool", [x], [x.type], attributes).value()

    def average() -> Value:
        exclude = {**attributes, "exclude-pad": a["average_count_excludes_padding"]}
        return low.model.add("AvgPool", [x], [x.type], exclude).value()

    o, factor = low.ops, float(a["blend_factor"])
    if a["type"] == "MAX":
        y = largest()
    elif a["type"] == "AVERAGE":
        y = average()
    else:
        y = o.add(o.multiply(largest(), o.f32(1 - factor)), o.multiply(average(), o.f32(factor)))
    low.put(node.output, y)


def _check_windows(low: Lowering, node: Node) -> None:
    """Rounding up can place a last window behind the image: nothing says what it gives."""
    a, rank = node.attributes, node.required(0).rank
    first = rank - len(a["window_size_nd"])
    for axis, (before, stride) in enumerate(zip(a["pre_padding"], a["stride_nd"], strict=True), start=first):
        size, count = node.required(0).shape[axis], node.output.shape[axis]
        if size > 0 and count > 0 and (count - 1) * stride - before >= size:
            raise low.refusal(node, f"a window that lies wholly outside of the input along axis {axis}")


def padding(low: Lowering, node: Node) -> None:
    """Zeros around the last dimensions; negative numbers trim."""
    source = node.required(0)
    before, after = (tuple(node.attributes[k]) for k in ("pre_padding_nd", "post_padding_nd"))
    lead = [0] * (source.rank - len(before))
    inputs = [low.value(source), low.ops.i64(*lead, *before), low.ops.i64(*lead, *after), low.ops.f32(0.0)]
    low.put(node.output, low.model.add("Pad", inputs, [ElementType.F32], {"pad_mode": "constant"}, "opset12").value())


_NEAREST = {"HALF_DOWN": "round_prefer_floor", "HALF_UP": "round_prefer_ceil", "FLOOR": "floor", "CEIL": "ceil"}
_COORDINATES = {"ALIGN_CORNERS": "align_corners", "ASYMMETRIC": "asymmetric", "HALF_PIXEL": "half_pixel"}


def resize(low: Lowering, node: Node) -> None:
    """To a shape (attribute or input 1) or by factors; only dimensions that change are interpolated."""
    source, a, o = node.required(0), node.attributes, low.ops
    if a["exclude_outside"]:
        raise low.refusal(node, "a cubic resize that excludes outside pixels")
    given, scales, target = node.input(1), a["scales"], a["shape"]
    if given is not None and given.constant is not None:
        target, given = given.constant.as_ints(), None
    if given is not None:
        axes = list(range(2, source.rank)) if source.rank > 2 else list(range(source.rank))
        amounts = o.gather(o.convert(low.value(given), ElementType.I64), o.i64(*axes), 0)
    elif scales:
        axes = [i for i, s in enumerate(scales) if s != 1.0]
        amounts = o.array(_float_array([scales[i] for i in axes]))
    else:
        axes = [i for i, (old, new) in enumerate(zip(source.shape, target, strict=True)) if old != new or old < 0]
        amounts = o.i64(*[target[i] for i in axes])
    x = low.value(source)
    low.put(node.output, _interpolated(low, node, x, amounts, axes, by_scale=bool(scales)) if axes else x)


def _interpolated(low: Lowering, node: Node, x: Value, amounts: Value, axes: Sequence[int], by_scale: bool) -> Value:
    a = node.attributes
    coordinates = _COORDINATES[a["coordinate_transformation"]]
    if coordinates == "half_pixel" and a["selector_for_single_pixel"] == "UPPER":
        coordinates = "pytorch_half_pixel"  # differs only where one pixel is left, which then is the first
    mode = {"NEAREST": "nearest", "LINEAR": "linear_onnx", "CUBIC": "cubic"}[a["resize_mode"]]
    attributes: dict[str, Attribute] = {
        "mode": mode,
        "shape_calculation_mode": "scales" if by_scale else "sizes",
        "coordinate_transformation_mode": coordinates,
        "nearest_mode": _NEAREST[a["nearest_rounding"]],
        "antialias": False,
        "pads_begin": (0,),
        "pads_end": (0,),
        "cube_coeff": float(a["cubic_coeff"]),
    }
    inputs = [x, amounts, low.ops.i64(*axes)]
    return low.model.add("Interpolate", inputs, [x.type], attributes, "opset11").value()


def _float_array(values: Sequence[float]) -> np.ndarray:
    return np.array(values, np.float32)


def scale(low: Lowering, node: Node) -> None:
    """(x * scale + shift) ^ power with factors per tensor, channel or element."""
    source, o = node.required(0), low.ops
    y = low.value(source)
    for index, operation in ((2, "Multiply"), (1, "Add"), (3, "Power")):
        factor = node.input(index)
        if factor is not None:
            y = o.binary(operation, y, _spread(low, node, factor, source))
    low.put(node.output, y)


def _spread(low: Lowering, node: Node, factor: Tensor, source: Tensor) -> Value:
    mode = node.attributes["mode"]
    if mode == "UNIFORM":
        shape: list[int] = [1] * source.rank
    elif mode == "CHANNEL":
        shape = [-1 if i == node.attributes["channel_axis"] else 1 for i in range(source.rank)]
    else:
        shape = [1, *source.shape[1:]]
    return low.ops.reshape(low.value(factor), low.dims_value(shape))


def lrn(low: Lowering, node: Node) -> None:
    """Local response normalization across channels."""
    a = node.attributes
    attributes = {"alpha": float(a["alpha"]), "beta": float(a["beta"]), "bias": float(a["k"]), "size": a["window_size"]}
    inputs = [low.value(node.required(0)), low.ops.i64(1)]
    low.put(node.output, low.model.add("LRN", inputs, [ElementType.F32], attributes).value())


_GRID_MODES = {"LINEAR": "bilinear", "NEAREST": "nearest", "CUBIC": "bicubic"}
_GRID_BORDERS = {"FILL": "zeros", "CLAMP": "border", "REFLECT": "reflection"}


def grid_sample(low: Lowering, node: Node) -> None:
    """Images or volumes read at the points of a grid."""
    source, a = node.required(0), node.attributes
    if source.rank not in (4, 5) or a["sample_mode"] not in _GRID_BORDERS:
        raise low.refusal(node, f"rank {source.rank} with sample mode {a['sample_mode']}")
    if source.rank == 5:
        low.put(node.output, sample_volume(low, node))
        return
    attributes: dict[str, Attribute] = {
        "align_corners": bool(a["align_corners"]),
        "mode": _GRID_MODES[a["interpolation_mode"]],
        "padding_mode": _GRID_BORDERS[a["sample_mode"]],
    }
    inputs = [low.value(source), low.value(node.required(1))]
    low.put(node.output, low.model.add("GridSample", inputs, [ElementType.F32], attributes, "opset9").value())


RULES: dict[str, Rule] = {
    "CONVOLUTION": convolution,
    "DECONVOLUTION": deconvolution,
    "POOLING": pooling,
    "PADDING": padding,
    "RESIZE": resize,
    "SCALE": scale,
    "LRN": lrn,
    "GRID_SAMPLE": grid_sample,
}
