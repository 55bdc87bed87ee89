"""Reading a finished network: attributes, constants without copies, opaque weights, attention."""

from __future__ import annotations

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.reader import DTYPES, read_network
from trtmc.compilers.openvino.testing import TestNetwork
from trtmc.core.dtype import DType


def test_every_type_of_the_library_is_known() -> None:
    assert {t.name for t in DTYPES} == set(trt.DataType.__members__)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype=np.float32), DType.F32),
        (np.arange(6, dtype=np.float16), DType.F16),
        (np.arange(6, dtype=np.uint16), DType.BF16),
        (np.arange(6, dtype=np.int64), DType.I64),
        (np.array([1, 0, 1, 1, 0, 0], bool), DType.BOOL),
        (np.arange(3, dtype=np.uint8), DType.I4),
    ],
)
def test_constants_alias_the_memory_that_the_network_points_to(array: np.ndarray, dtype: DType) -> None:
    net = TestNetwork()
    net.const(array, dtype, (2, 3))
    (node,) = read_network(net.trt)
    assert node.constant is not None
    assert (node.constant.dtype, node.constant.shape) == (dtype, (2, 3))
    assert node.constant.address == array.ctypes.data, "a copy"
    assert node.constant.raw.tobytes() == array.tobytes()


def test_attributes_are_plain_values() -> None:
    net = TestNetwork()
    x = net.input("x", DType.F32, (-1, 3, 4))
    shuffle = net.trt.add_shuffle(x)
    shuffle.second_transpose = (2, 0, 1)
    reduce = net.trt.add_reduce(shuffle.get_output(0), trt.ReduceOperation.MAX, 0b101, True)
    act = net.trt.add_activation(reduce.get_output(0), trt.ActivationType.ELU)
    act.alpha = 0.5
    net.output("y", act)
    nodes = {n.kind: n.attributes for n in read_network(net.trt)}
    assert nodes["SHUFFLE"]["reshape_dims"] is None
    assert nodes["SHUFFLE"]["second_transpose"][:3] == (2, 0, 1)
    assert nodes["REDUCE"] == {"op": "MAX", "axes": (0, 2), "keep_dims": True}
    assert (nodes["ACTIVATION"]["type"], nodes["ACTIVATION"]["alpha"]) == ("ELU", 0.5)


def test_an_attention_is_one_node_with_its_optional_inputs_in_fixed_places() -> None:
    net = TestNetwork()
    q, k, v = (net.input(n, DType.F32, (-1, 2, -1, 4)) for n in "qkv")
    attention = net.trt.add_attention_v2(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, trt.CausalMaskKind.LOWER_RIGHT)
    attention.key_value_lengths = net.input("n", DType.I32, (-1,))
    net.output("y", attention.get_output(0))
    (node,) = read_network(net.trt)
    assert node.kind == "ATTENTION_OUTPUT"
    assert [t and t.name for t in node.inputs] == ["q", "k", "v", None, "n", None, None]
    assert node.attributes["causal_kind"] == "LOWER_RIGHT"


def test_outputs_keep_their_names_and_types() -> None:
    net = TestNetwork()
    x = net.input("x", DType.F16, (3,))
    net.output("y", net.trt.add_unary(x, trt.UnaryOperation.EXP))
    graph = read_network(net.trt)
    assert (graph.output_names, graph.output_dtypes) == (["y"], [DType.F16])
