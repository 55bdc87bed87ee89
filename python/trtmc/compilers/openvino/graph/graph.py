"""Nodes, tensors and their users: the walked network in a form that patterns can match and rewrite.

Knows nothing about layer meanings beyond the name of a kind; attributes are plain Python values. Rewriting keeps the
use lists right: add a node with `Graph.add`, move consumers with `Graph.replace`, then `Graph.prune` drops what nobody
uses and `Graph.ordered` gives a topological order that depends on the network alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput


@dataclass(eq=False)
class Tensor:
    """A value in the graph. `shape` has -1 where a dimension is dynamic; the rank is always known."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    producer: Node | None = None
    users: list[tuple[Node, int]] = field(default_factory=list)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def constant(self) -> ConstantData | None:
        """The data, if a CONSTANT node makes this tensor."""
        return self.producer.constant if self.producer is not None else None

    @property
    def sole_user(self) -> Node | None:
        """The one node that reads this tensor exactly once, else None."""
        return self.users[0][0] if len(self.users) == 1 else None

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype.value}{list(self.shape)}"


@dataclass(eq=False)
class Node:
    """One layer, or one fused operation that a pattern put in place of several.

    `kind` is the name of TensorRT's layer type ("MATRIX_MULTIPLY"), or "trtmc.<Op>" for an own operation.
    An absent optional input is None.
    """

    kind: str
    name: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    constant: ConstantData | None = None

    @property
    def output(self) -> Tensor:
        """The only output, or the first."""
        return self.outputs[0]

    def input(self, index: int) -> Tensor | None:
        """Input `index`, None where it is absent or beyond the end."""
        return self.inputs[index] if index < len(self.inputs) else None

    def required(self, index: int) -> Tensor:
        """Input `index`, which must be there."""
        tensor = self.input(index)
        if tensor is None:
            raise BadInput("network.missing_input", f"layer '{self.name}' ({self.kind}) lacks its input {index}")
        return tensor

    def __repr__(self) -> str:
        return f"{self.kind} '{self.name}'"


class Graph:
    """A network's nodes with its inputs and marked outputs; `output_names` are the names they are bound by."""

    def __init__(self) -> None:
        self.nodes: dict[Node, None] = {}
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.output_names: list[str] = []
        self.output_dtypes: list[DType] = []  # as the caller sees them, whatever a rewrite puts behind the name

    def add(self, node: Node) -> Node:
        """Puts a node in: its inputs must exist in the graph (or come later), its outputs get it as producer."""
        for output in node.outputs:
            output.producer = node
        for index, tensor in enumerate(node.inputs):
            if tensor is not None:
                tensor.users.append((node, index))
        self.nodes[node] = None
        return node

    def new(
        self,
        kind: str,
        name: str,
        inputs: Sequence[Tensor | None],
        dtype: DType,
        shape: tuple[int, ...],
        attributes: Mapping[str, Any] | None = None,
    ) -> Tensor:
        """Adds a node with one fresh output tensor and returns that tensor."""
        output = Tensor(f"{name}_output", dtype, shape)
        self.add(Node(kind, name, list(inputs), [output], dict(attributes or {})))
        return output

    def constant(self, name: str, data: ConstantData) -> Tensor:
        """Adds a CONSTANT node and returns its tensor."""
        output = Tensor(f"{name}_output", data.dtype, data.shape)
        self.add(Node("CONSTANT", name, [], [output], {}, data))
        return output

    def replace(self, old: Tensor, new: Tensor) -> None:
        """Lets every consumer of `old`, the network's outputs included, read `new` instead."""
        for node, index in old.users:
            node.inputs[index] = new
            new.users.append((node, index))
        old.users = []
        self.outputs = [new if tensor is old else tensor for tensor in self.outputs]

    def remove(self, node: Node) -> None:
        """Takes a node out; its outputs must be unused."""
        for index, tensor in enumerate(node.inputs):
            if tensor is not None:
                tensor.users.remove((node, index))
        del self.nodes[node]

    def is_output(self, tensor: Tensor) -> bool:
        """True if the network's caller sees this tensor."""
        return any(tensor is output for output in self.outputs)

    def prune(self) -> int:
        """Drops every node none of whose outputs is read or marked; returns how many went."""
        marked = set(map(id, self.outputs))
        todo, gone = list(self.nodes), 0
        while todo:
            node = todo.pop()
            if node not in self.nodes or any(t.users or id(t) in marked for t in node.outputs):
                continue
            todo.extend(t.producer for t in node.inputs if t is not None and t.producer is not None)
            self.remove(node)
            gone += 1
        return gone

    def ordered(self) -> list[Node]:
        """All nodes, producers first; among those that are ready, insertion order decides.

        TensorRT gives layers in order of creation, which a later `set_input` can make untopological.
        """
        index = {node: i for i, node in enumerate(self.nodes)}
        done: set[Node] = set()
        result: list[Node] = []
        for root in index:
            stack: list[tuple[Node, bool]] = [(root, False)]
            open_nodes: set[Node] = set()
            while stack:
                node, leaving = stack.pop()
                if leaving:
                    open_nodes.discard(node)
                    done.add(node)
                    result.append(node)
                    continue
                if node in done:
                    continue
                if node in open_nodes:
                    raise BadInput("network.cycle", f"layer '{node.name}' ({node.kind}) depends on its own output")
                open_nodes.add(node)
                stack.append((node, True))
                producers = [t.producer for t in node.inputs if t is not None and t.producer is not None]
                stack.extend((p, False) for p in reversed(producers) if p not in done)
        return result

    def counts(self) -> dict[str, int]:
        """How many nodes of each kind, sorted by name."""
        return dict(sorted(Counter(node.kind for node in self.nodes).items()))

    def __iter__(self) -> Iterator[Node]:
        return iter(list(self.nodes))
