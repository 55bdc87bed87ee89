"""Moving a set of nodes out of a graph into one of its own: what it reads from outside becomes its inputs.

Constants are copied along, because lowering rules want to see them. Knows no layer kind but CONSTANT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor


class Outlined:
    """A body under construction. `captures` are the outer tensors that it reads, in order of first use."""

    def __init__(self) -> None:
        self.body = Graph()
        self.captures: list[Tensor] = []
        self.parameters: list[Tensor] = []  # one per capture
        self._inner: dict[int, Tensor] = {}

    @staticmethod
    def parameter(like: Tensor) -> Tensor:
        """A fresh tensor of the same name, type and shape, that nothing inside makes."""
        return Tensor(like.name, like.dtype, like.shape)

    def bind(self, outer: Tensor, inner: Tensor) -> None:
        """Lets the body read `inner` wherever its nodes read `outer`."""
        self._inner[id(outer)] = inner

    def inside(self, tensor: Tensor) -> Tensor:
        """What stands for an outer tensor in the body: itself if a node of the body makes it."""
        if tensor.producer is not None and tensor.producer in self.body.nodes:
            return tensor
        known = self._inner.get(id(tensor))
        if known is not None:
            return known
        if tensor.producer is not None and tensor.producer.constant is not None:
            made = self.body.constant(tensor.producer.name, tensor.producer.constant)
        else:
            made = self.parameter(tensor)
            self.captures.append(tensor)
            self.parameters.append(made)
        self.bind(tensor, made)
        return made

    def move(self, graph: Graph, nodes: Iterable[Node]) -> None:
        """Takes the nodes out of `graph` and puts them into the body, in their order."""
        moved = list(nodes)
        for node in moved:
            graph.remove(node)
        members = set(moved)
        for node in moved:
            node.inputs = [t if t is None or t.producer in members else self.inside(t) for t in node.inputs]
            self.body.add(node)


def cloned(graph: Graph, root: Tensor, stops: Mapping[int, Tensor], limits: set[Node], suffix: str) -> Tensor:
    """A copy in `graph` of the nodes among `limits` that make `root`, reading `stops[id(t)]` wherever they read t."""
    if id(root) in stops:
        return stops[id(root)]
    producer = root.producer
    if producer is None or producer not in limits:
        return root
    inputs = [None if t is None else cloned(graph, t, stops, limits, suffix) for t in producer.inputs]
    outputs = [Tensor(t.name + suffix, t.dtype, t.shape) for t in producer.outputs]
    graph.add(Node(producer.kind, producer.name + suffix, inputs, outputs, producer.attributes, producer.constant))
    return outputs[producer.outputs.index(root)]
