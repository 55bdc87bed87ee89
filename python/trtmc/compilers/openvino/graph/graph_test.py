"""Rewriting and ordering of the graph."""

from __future__ import annotations

import numpy as np
import pytest

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput


def _graph() -> tuple[Graph, Tensor]:
    graph = Graph()
    x = Tensor("x", DType.F32, (2,))
    graph.inputs = [x]
    return graph, x


def _mark(graph: Graph, *tensors: Tensor) -> None:
    graph.outputs = list(tensors)
    graph.output_names = [t.name for t in tensors]
    graph.output_dtypes = [t.dtype for t in tensors]


def test_replace_moves_users_and_outputs() -> None:
    graph, x = _graph()
    a = graph.new("A", "a", [x], DType.F32, (2,))
    b = graph.new("B", "b", [a, a], DType.F32, (2,))
    _mark(graph, a, b)
    new = graph.new("C", "c", [x], DType.F32, (2,))
    graph.replace(a, new)
    assert b.producer is not None
    assert b.producer.inputs == [new, new]
    assert (a.users, graph.outputs) == ([], [new, b])
    assert graph.prune() == 1
    assert [n.kind for n in graph] == ["B", "C"]
    assert x.users == [(new.producer, 0)]


def test_prune_follows_producers_and_keeps_outputs() -> None:
    graph, x = _graph()
    a = graph.new("A", "a", [x], DType.F32, (2,))
    graph.new("B", "b", [a], DType.F32, (2,))
    kept = graph.new("K", "k", [x], DType.F32, (2,))
    _mark(graph, kept)
    assert graph.prune() == 2
    assert [n.name for n in graph] == ["k"]


def test_order_puts_producers_first_and_is_stable() -> None:
    graph, x = _graph()
    late = Tensor("late", DType.F32, (2,))
    graph.add(Node("USER", "user", [x, late], [Tensor("u", DType.F32, (2,))]))
    graph.add(Node("OTHER", "other", [x], [Tensor("o", DType.F32, (2,))]))
    graph.add(Node("LATE", "late", [x], [late]))
    assert [n.name for n in graph.ordered()] == ["late", "user", "other"]


def test_a_diamond_is_no_cycle() -> None:
    graph, x = _graph()
    a = graph.new("A", "a", [x], DType.F32, (2,))
    b, c = (graph.new(k, k, [a], DType.F32, (2,)) for k in "BC")
    graph.new("D", "d", [b, c, a], DType.F32, (2,))
    assert [n.name for n in graph.ordered()] == ["a", "B", "C", "d"]


def test_a_cycle_is_refused_with_a_name() -> None:
    graph, _ = _graph()
    a, b = Tensor("a", DType.F32, (2,)), Tensor("b", DType.F32, (2,))
    graph.add(Node("A", "first", [b], [a]))
    graph.add(Node("B", "second", [a], [b]))
    with pytest.raises(BadInput, match=r"'first'|'second'") as caught:
        graph.ordered()
    assert caught.value.code == "network.cycle"


def test_a_deep_chain_needs_no_recursion() -> None:
    graph, x = _graph()
    for i in range(5000):
        x = graph.new("N", str(i), [x], DType.F32, (2,))
    assert len(graph.ordered()) == 5000


def test_constant_data_checks_its_size_and_converts_exactly() -> None:
    with pytest.raises(ValueError, match="needs 8 bytes, got 4"):
        ConstantData(DType.F32, (2,), np.zeros(4, np.uint8))
    bf16 = ConstantData(DType.BF16, (2,), np.array([0x3F80, 0xC040], np.uint16).view(np.uint8))
    assert bf16.as_float32().tolist() == [1.0, -3.0]
    assert ConstantData.of(np.array(7, np.int64)).as_ints() == (7,)
    assert ConstantData.of(np.array([[2.5]], np.float16)).scalar() == 2.5
    with pytest.raises(TypeError, match="int64"):
        ConstantData.of(np.array(7, np.int64)).as_float32()
