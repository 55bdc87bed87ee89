"""Every kind of layer that the library has is either lowered or refused by name."""

from __future__ import annotations

import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.graph import Graph, Tensor
from trtmc.compilers.openvino.lowering.table import REFUSED, RULES, lower
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

READ_ELSEWHERE = {"ATTENTION_INPUT"}  # a boundary marker of the attention


def test_all_kinds_are_accounted_for() -> None:
    lowered = {kind for kind in RULES if not kind.startswith("trtmc.")}
    assert lowered | set(REFUSED) | READ_ELSEWHERE == set(trt.LayerType.__members__)
    assert not lowered & set(REFUSED)


@pytest.mark.parametrize("kind", sorted(REFUSED))
def test_a_refusal_names_the_layer_and_its_kind(kind: str) -> None:
    graph = Graph()
    x = Tensor("x", DType.F32, (2,))
    graph.inputs = [x]
    graph.outputs = [graph.new(kind, "the layer", [x], DType.F32, (2,))]
    graph.output_names, graph.output_dtypes = ["y"], [DType.F32]
    with pytest.raises(Unsupported) as caught:
        lower(graph, {})
    assert caught.value.code == "network.unsupported_layer"
    assert f"'the layer' ({kind})" in caught.value.message


def test_a_result_of_a_type_that_the_cpu_lacks_is_refused() -> None:
    graph = Graph()
    x = Tensor("x", DType.F32, (2,))
    graph.inputs = [x]
    graph.new("CAST", "narrow", [x], DType.F8_E5M2, (2,))
    with pytest.raises(Unsupported, match=r"'narrow' \(CAST\): a result of type float8_e5m2"):
        lower(graph, {})


def test_an_input_of_an_unknown_type_is_refused() -> None:
    graph = Graph()
    graph.inputs = [Tensor("x", DType.F4_E2M1, (2,))]
    with pytest.raises(Unsupported, match="'x' has type float4_e2m1"):
        lower(graph, {})
