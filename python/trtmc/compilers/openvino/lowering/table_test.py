"""Every kind of layer that the library has is either lowered or refused by name."""

from __future__ import annotations

import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.graph.graph import Graph, Tensor
from trtmc.compilers.openvino.lowering.table import READ_OTHERWISE, REFUSED, RULES, lower
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported


def test_all_kinds_are_accounted_for() -> None:
    lowered = {kind for kind in RULES if "." not in kind}
    assert lowered | set(REFUSED) | READ_OTHERWISE == set(trt.LayerType.__members__)
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
    graph.inputs = [Tensor("x", DType.F8_E5M2, (2,))]
    with pytest.raises(Unsupported, match="'x' has type float8_e5m2"):
        lower(graph, {})
