"""Every member of every enumeration that a layer takes is lowered, or refused with the layer's name; never an accident.

The graphs are made by hand, so that members which TensorRT's own checks would stop are tried as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph, Tensor
from trtmc.compilers.openvino.lowering.table import lower
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

IMAGE = (1, 2, 4, 4)
WINDOW = {"stride_nd": (1, 1), "pre_padding": (0, 0), "post_padding": (0, 0)}
FILTERS = {**WINDOW, "num_output_maps": 2, "num_groups": 1, "kernel_size_nd": (2, 2), "dilation_nd": (1, 1)}
POOL = {**WINDOW, "window_size_nd": (2, 2), "average_count_excludes_padding": True, "blend_factor": 0.5}
RESIZE = {
    "shape": (1, 2, 6, 6),
    "scales": (),
    "selector_for_single_pixel": "UPPER",
    "cubic_coeff": -0.75,
    "exclude_outside": False,
    "resize_mode": "LINEAR",
    "coordinate_transformation": "HALF_PIXEL",
    "nearest_rounding": "FLOOR",
}
ATTENTION = {"query_form": "PADDED_BHND", "key_value_form": "PADDED_BHND", "num_ranks": 1, "causal_kind": "NONE"}
SLICE = {"start": (0, 0, 0, 0), "shape": IMAGE, "stride": (1, 1, 1, 1), "axes": None}
SAMPLE = {"align_corners": True, "interpolation_mode": "LINEAR", "sample_mode": "FILL"}
X, PICK, F = "x", np.zeros((1, 2, 4, 4), np.int32), np.ones((2, 2, 2, 2), np.float32)

# kind, attribute, enumeration, other attributes, inputs ("x": a float image), rank of the result
CASES: list[tuple[str, str, Any, dict[str, Any], list[Any]]] = [
    ("UNARY", "op", trt.UnaryOperation, {}, [X]),
    ("ELEMENTWISE", "op", trt.ElementWiseOperation, {}, [X, X]),
    ("ACTIVATION", "type", trt.ActivationType, {"alpha": 1.0, "beta": 1.0}, [X]),
    ("REDUCE", "op", trt.ReduceOperation, {"axes": (1,), "keep_dims": True}, [X]),
    ("CUMULATIVE", "op", trt.CumulativeOperation, {"exclusive": False, "reverse": False}, [X, np.array(1, np.int32)]),
    ("TOPK", "op", trt.TopKOperation, {"k": 2, "axes": (3,)}, [X]),
    ("POOLING", "type", trt.PoolingType, {**POOL, "padding_mode": "EXPLICIT_ROUND_DOWN"}, [X]),
    ("POOLING", "padding_mode", trt.PaddingMode, {**POOL, "type": "MAX"}, [X]),
    ("CONVOLUTION", "padding_mode", trt.PaddingMode, FILTERS, [X, F]),
    ("DECONVOLUTION", "padding_mode", trt.PaddingMode, FILTERS, [X, F]),
    ("GATHER", "mode", trt.GatherMode, {"axis": 3, "num_elementwise_dims": 0}, [X, PICK]),
    ("SCATTER", "mode", trt.ScatterMode, {"axis": 3}, [X, PICK, X]),
    ("SLICE", "mode", trt.SampleMode, SLICE, [X]),
    ("FILL", "operation", trt.FillOperation, {"shape": (4,), "alpha": 0.0, "beta": 1.0}, []),
    ("MATRIX_MULTIPLY", "op0", trt.MatrixOperation, {"op1": "NONE"}, [X, X]),
    ("MATRIX_MULTIPLY", "op1", trt.MatrixOperation, {"op0": "NONE"}, [X, X]),
    ("RESIZE", "resize_mode", trt.InterpolationMode, RESIZE, [X]),
    ("RESIZE", "coordinate_transformation", trt.ResizeCoordinateTransformation, RESIZE, [X]),
    ("RESIZE", "nearest_rounding", trt.ResizeRoundMode, {**RESIZE, "resize_mode": "NEAREST"}, [X]),
    ("RESIZE", "selector_for_single_pixel", trt.ResizeSelector, RESIZE, [X]),
    ("GRID_SAMPLE", "sample_mode", trt.SampleMode, SAMPLE, [X, np.zeros((1, 2, 2, 2), np.float32)]),
    ("GRID_SAMPLE", "interpolation_mode", trt.InterpolationMode, SAMPLE, [X, np.zeros((1, 2, 2, 2), np.float32)]),
    ("SCALE", "mode", trt.ScaleMode, {"channel_axis": 1}, [X, np.ones(1, np.float32)]),
    ("ATTENTION_OUTPUT", "causal_kind", trt.CausalMaskKind, {**ATTENTION, "norm_op": "SOFTMAX"}, [X] * 3 + [None] * 4),
    ("ATTENTION_OUTPUT", "norm_op", trt.AttentionNormalizationOp, ATTENTION, [X] * 3 + [None] * 4),
]


def _graph(kind: str, attributes: dict[str, Any], inputs: list[Any]) -> Graph:
    graph = Graph()
    x = Tensor("x", DType.F32, IMAGE)
    graph.inputs = [x]

    def tensor(given: Any) -> Tensor | None:
        if given is None or isinstance(given, str):
            return x if given == X else None
        return graph.constant(f"constant {len(graph.nodes)}", ConstantData.of(given))

    y = graph.new(kind, "the layer", [tensor(given) for given in inputs], DType.F32, IMAGE, attributes)
    assert y.producer is not None
    if kind == "TOPK":
        indices = Tensor("indices", DType.I32, IMAGE, y.producer)
        y.producer.outputs.append(indices)
    if kind == "FILL":
        y.shape = (4,)
    graph.outputs, graph.output_names, graph.output_dtypes = [y], ["y"], [DType.F32]
    return graph


ALL = [(*case, member) for case in CASES for member in sorted(case[2].__members__)]


@pytest.mark.parametrize(
    ("kind", "attribute", "enumeration", "others", "inputs", "member"), ALL, ids=[f"{c[0]}-{c[1]}-{c[5]}" for c in ALL]
)
def test_a_member_is_lowered_or_refused(
    kind: str, attribute: str, enumeration: Any, others: dict[str, Any], inputs: list[Any], member: str
) -> None:
    name = enumeration.__members__[member].name  # aliases go by the name that the reader sees
    try:
        lower(_graph(kind, {**others, attribute: name}, inputs), {})
    except Unsupported as refusal:
        assert f"'the layer' ({kind})" in refusal.message
