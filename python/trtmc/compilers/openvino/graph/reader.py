"""Finished `INetworkDefinition` -> `Graph`. The only module that touches TensorRT objects.

Copies names, types, shapes, attributes and, for constants, a view of the memory that the network itself points to.
Every such view holds on to the `owner` of that memory. Knows which attributes a layer kind has, not what they mean.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.constant import NUMPY_DTYPES, ConstantData, storage_bytes
from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, InternalError, Unsupported

DTYPES = {
    trt.DataType.FLOAT: DType.F32,
    trt.DataType.HALF: DType.F16,
    trt.DataType.BF16: DType.BF16,
    trt.DataType.INT8: DType.I8,
    trt.DataType.INT32: DType.I32,
    trt.DataType.INT64: DType.I64,
    trt.DataType.BOOL: DType.BOOL,
    trt.DataType.UINT8: DType.U8,
    trt.DataType.FP8: DType.F8_E4M3,
    trt.DataType.INT4: DType.I4,
    trt.DataType.FP4: DType.F4_E2M1,
    trt.DataType.E8M0: DType.F8_E8M0,
}

# What is read from each kind of layer, besides inputs and outputs. A kind that is absent here is read without
# attributes; whether it can be lowered is the lowering table's decision.
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "ACTIVATION": ("alpha", "beta"),
    "ASSERTION": ("message",),
    "ATTENTION_OUTPUT": (),
    "CAST": ("to_type",),
    "CONCATENATION": ("axis",),
    "CONVOLUTION": (
        "num_output_maps",
        "num_groups",
        "kernel_size_nd",
        "stride_nd",
        "dilation_nd",
        "pre_padding",
        "post_padding",
        "padding_mode",
    ),
    "CUMULATIVE": ("op", "exclusive", "reverse"),
    "DECONVOLUTION": (
        "num_output_maps",
        "num_groups",
        "kernel_size_nd",
        "stride_nd",
        "dilation_nd",
        "pre_padding",
        "post_padding",
        "padding_mode",
    ),
    "DEQUANTIZE": ("axis", "to_type", "block_shape"),
    "DYNAMIC_QUANTIZE": ("axis", "block_size", "block_shape"),
    "EINSUM": ("equation",),
    "ELEMENTWISE": ("op",),
    "FILL": ("operation", "shape", "alpha", "beta", "to_type"),
    "GATHER": ("axis", "mode", "num_elementwise_dims"),
    "GRID_SAMPLE": ("align_corners", "interpolation_mode", "sample_mode"),
    "ITERATOR": ("axis", "reverse"),
    "KV_CACHE_UPDATE": ("cache_mode", "update_form"),
    "LOOP_OUTPUT": ("axis", "kind"),
    "LRN": ("alpha", "beta", "k", "window_size"),
    "MATRIX_MULTIPLY": ("op0", "op1"),
    "MOE": (
        "activation_type",
        "quantization_to_type",
        "swiglu_param_limit",
        "swiglu_param_alpha",
        "swiglu_param_beta",
    ),
    "NMS": ("bounding_box_format", "topk_box_limit", "indices_type"),
    "NON_ZERO": ("indices_type",),
    "NORMALIZATION": ("axes", "epsilon", "num_groups", "is_v2"),
    "ONE_HOT": ("axis",),
    "PADDING": ("pre_padding_nd", "post_padding_nd"),
    "POOLING": (
        "window_size_nd",
        "stride_nd",
        "pre_padding",
        "post_padding",
        "padding_mode",
        "average_count_excludes_padding",
        "blend_factor",
    ),
    "QUANTIZE": ("axis", "to_type", "block_shape"),
    "REDUCE": ("op", "axes", "keep_dims"),
    "RESIZE": (
        "resize_mode",
        "shape",
        "scales",
        "coordinate_transformation",
        "selector_for_single_pixel",
        "nearest_rounding",
        "cubic_coeff",
        "exclude_outside",
    ),
    "REVERSE_SEQUENCE": ("batch_axis", "sequence_axis"),
    "ROTARY_EMBEDDING": ("interleaved", "rotary_embedding_dim"),
    "SCALE": ("mode", "channel_axis"),
    "SCATTER": ("axis", "mode"),
    "SHUFFLE": ("first_transpose", "reshape_dims", "second_transpose", "zero_is_placeholder"),
    "SLICE": ("start", "shape", "stride", "mode", "axes"),
    "SOFTMAX": ("axes",),
    "TOPK": ("op", "k", "axes", "indices_type"),
    "TRIP_LIMIT": ("kind",),
    "UNARY": ("op",),
}
ATTENTION = (
    "norm_op",
    "causal_kind",
    "decomposable",
    "query_form",
    "key_value_form",
    "num_ranks",
)
QUANTIZED_TO = "normalization_quantize_to_type"
EMBEDDED: dict[str, tuple[str, ...]] = {
    "CONVOLUTION": ("kernel", "bias"),
    "DECONVOLUTION": ("kernel", "bias"),
    "SCALE": ("shift", "scale", "power"),
}
"""Weights that live inside a layer: read as constants, at input 1 and after, unless an input is there already."""
_CLASS_NAMES = {
    "CONDITIONAL_INPUT": "IfConditionalInput",
    "CONDITIONAL_OUTPUT": "IfConditionalOutput",
    "ELEMENTWISE": "ElementWise",
    "KV_CACHE_UPDATE": "KVCacheUpdate",
    "LRN": "LRN",
    "MOE": "MoE",
    "NMS": "NMS",
    "PARAMETRIC_RELU": "ParametricReLU",
    "RAGGED_SOFTMAX": "RaggedSoftMax",
    "SOFTMAX": "SoftMax",
    "TOPK": "TopK",
}
_REGIONS = {  # boundary layers: the attribute that says which loop or conditional a layer belongs to
    **dict.fromkeys(("ITERATOR", "LOOP_OUTPUT", "RECURRENCE", "TRIP_LIMIT"), "loop"),
    **dict.fromkeys(("CONDITION", "CONDITIONAL_INPUT", "CONDITIONAL_OUTPUT"), "conditional"),
}
_BITMASKS = {"axes"}
_MASKED_KINDS = {"REDUCE", "SOFTMAX", "TOPK", "NORMALIZATION"}


def read_network(network: trt.INetworkDefinition, owner: object = None) -> Graph:
    """Reads a finished network; `owner` keeps its constants' memory alive, and every view of them keeps `owner`."""
    graph = Graph()
    reader = _Reader(graph, owner)
    graph.inputs = [reader.tensor(network.get_input(i)) for i in range(network.num_inputs)]
    for i in range(network.num_layers):
        reader.layer(network.get_layer(i))
    for i in range(network.num_outputs):
        output = reader.tensor(network.get_output(i))
        graph.outputs.append(output)
        graph.output_names.append(output.name)
        graph.output_dtypes.append(output.dtype)
    reader.check()
    return graph


class _Reader:
    """Tensor wrappers of the bindings have no stable identity, so tensors are told apart by name."""

    def __init__(self, graph: Graph, owner: object) -> None:
        self._graph = graph
        self._owner = owner
        self._tensors: dict[str, Tensor] = {}
        self._regions: list[object] = []  # loops and conditionals, numbered in order of appearance

    def tensor(self, source: trt.ITensor, where: str = "the network") -> Tensor:
        known = self._tensors.get(source.name)
        if known is not None:
            return known
        dtype = DTYPES.get(source.dtype)
        if dtype is None:
            raise Unsupported("network.dtype", f"{where}: tensor '{source.name}' has the unknown type {source.dtype}")
        try:
            shape = tuple(source.shape)
        except (ValueError, RuntimeError):  # TensorRT gives no shape if the layer's inputs contradict each other
            raise BadInput(
                "network.invalid_layer",
                f"{where}: TensorRT finds no shape for tensor '{source.name}'; its inputs do not fit together",
            ) from None
        tensor = Tensor(source.name, dtype, shape)
        self._tensors[source.name] = tensor
        return tensor

    def layer(self, layer: trt.ILayer) -> None:
        kind, name = layer.type.name, layer.name  # before the class changes: IActivationLayer hides ILayer.type
        where = f"layer '{name}' ({kind})"
        if kind == "ATTENTION_INPUT":  # a boundary marker; the attention itself is read at its output
            return
        class_name = _CLASS_NAMES.get(kind, kind.title().replace("_", ""))
        cls = getattr(trt, f"I{class_name}Layer", None)
        if cls is not None:
            layer.__class__ = cls
        if kind == "ATTENTION_OUTPUT":
            attention = layer.attention
            inputs = [attention.get_input(i) for i in range(3)] + [attention.mask, attention.key_value_lengths]
            inputs += [attention.query_lengths, attention.normalization_quantize_scale]
            attributes = {key: _plain(getattr(attention, key)) for key in ATTENTION}
            if attention.normalization_quantize_scale is not None:  # else asking for the type is an error
                attributes[QUANTIZED_TO] = _plain(getattr(attention, QUANTIZED_TO))
        else:
            inputs = [layer.get_input(i) for i in range(layer.num_inputs)]
            attributes = {key: self._attribute(layer, kind, key) for key in ATTRIBUTES.get(kind, ())}
        if kind in ("ACTIVATION", "POOLING"):
            attributes["type"] = layer.type.name  # this class's own `type`
        if kind in _REGIONS:
            attributes["region"] = self._region(getattr(layer, _REGIONS[kind]))
        outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
        node = Node(
            kind,
            name,
            self._with_embedded(layer, kind, [None if t is None else self.tensor(t, where) for t in inputs]),
            [self.tensor(t, where) for t in outputs if t is not None],
            attributes,
            self._constant(layer, outputs[0]) if kind == "CONSTANT" else None,
        )
        for tensor in node.outputs:
            if tensor.producer is not None:
                raise BadInput(
                    "network.duplicate_tensor",
                    f"tensor '{tensor.name}' is made by layer '{tensor.producer.name}' and by {where}; "
                    "give each its own name",
                )
        self._graph.add(node)

    def _region(self, region: object) -> int:
        for number, known in enumerate(self._regions):
            if known is region:
                return number
        self._regions.append(region)
        return len(self._regions) - 1

    def _with_embedded(self, layer: Any, kind: str, inputs: list[Tensor | None]) -> list[Tensor | None]:
        for index, key in enumerate(EMBEDDED.get(kind, ()), start=1):
            inputs += [None] * (index + 1 - len(inputs))
            if inputs[index] is None:
                data = self._weights(getattr(layer, key), layer.name)
                inputs[index] = self._graph.constant(f"{layer.name}/{key}", data) if data is not None else None
        return inputs

    @staticmethod
    def _attribute(layer: trt.ILayer, kind: str, key: str) -> Any:
        try:
            value = _plain(getattr(layer, key))
        except (ValueError, RuntimeError):  # how the bindings report Dims that are not set
            return None
        if key in _BITMASKS and kind in _MASKED_KINDS and isinstance(value, int):
            return tuple(i for i in range(32) if value >> i & 1)
        return value

    def _constant(self, layer: Any, output: trt.ITensor) -> ConstantData:
        data = self._weights(layer.weights, layer.name)
        raw = data.raw if data is not None else np.zeros(0, np.uint8)
        return ConstantData(DTYPES[output.dtype], tuple(layer.shape), raw)

    def _weights(self, weights: Any, layer: str) -> ConstantData | None:
        """A `trt.Weights` as a flat constant, None if it is empty."""
        if weights is None or weights.size == 0:
            return None
        if isinstance(weights, np.ndarray):
            dtype, pointer = NUMPY_DTYPES[weights.dtype], weights.ctypes.data
        else:
            dtype, pointer = DTYPES[weights.dtype], _opaque_pointer(weights, layer)
        buffer = (ctypes.c_uint8 * storage_bytes(dtype, weights.size)).from_address(pointer)
        buffer.owner = self._owner  # the array's base is this buffer, so a view of the bytes keeps them valid
        return ConstantData(dtype, (weights.size,), np.frombuffer(buffer, np.uint8))

    def check(self) -> None:
        """Every tensor that is read must come from a layer or be an input."""
        inputs = set(map(id, self._graph.inputs))
        for tensor in self._tensors.values():
            if tensor.producer is None and id(tensor) not in inputs:
                reader = tensor.users[0][0].name if tensor.users else "the network's outputs"
                raise BadInput("network.dangling", f"tensor '{tensor.name}', read by '{reader}', is made by no layer")


def _plain(value: Any) -> Any:
    """Enums to names, dtypes to ours, Dims and Permutations to tuples."""
    if isinstance(value, trt.DataType):
        return DTYPES[value]
    if isinstance(value, (trt.Dims, trt.Permutation)):
        return tuple(value)
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else value


def _opaque_pointer(weights: Any, layer: str) -> int:
    """The address behind a `trt.Weights` of a type that numpy lacks (bf16, int4, ...).

    The bindings give no pointer, so the C struct {int32 type; const void* values; int64 count} that the pybind11 object
    holds is read, and its type and count are compared with what the bindings say before the pointer is believed.
    """
    struct = ctypes.c_void_p.from_address(id(weights) + 16).value
    if struct is None:
        raise InternalError("network.opaque_weights", f"constant '{layer}': the bindings hold no weights")
    kind = ctypes.c_int32.from_address(struct).value
    pointer = ctypes.c_void_p.from_address(struct + 8).value
    count = ctypes.c_int64.from_address(struct + 16).value
    if kind != int(weights.dtype) or count != weights.size or pointer is None:
        raise InternalError(
            "network.opaque_weights",
            f"constant '{layer}': unexpected layout of the TensorRT bindings' Weights object; expected type "
            f"{int(weights.dtype)} and {weights.size} elements, found {kind} and {count}",
        )
    return pointer
