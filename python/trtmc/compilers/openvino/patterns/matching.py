"""Small questions that several matchers ask about a node's surroundings. Knows no pattern."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Node, Tensor

SWAP_HEADS = (0, 2, 1, 3)
"""[batch, rows, heads, width] <-> [batch, heads, rows, width]."""


def made_by(tensor: Tensor | None, kind: str, **attributes: object) -> Node | None:
    """The tensor's producer, if it is of this kind and has these attributes."""
    node = tensor.producer if tensor is not None else None
    if node is None or node.kind != kind:
        return None
    return node if all(node.attributes.get(key) == value for key, value in attributes.items()) else None


def scalar(tensor: Tensor | None) -> float | None:
    """The value of a float constant of one element."""
    data = tensor.constant if tensor is not None else None
    return data.scalar() if data is not None else None


def split_scalar(node: Node) -> tuple[Tensor, float] | None:
    """For `x op constant` or `constant op x` with a one-element constant: x and the constant."""
    a, b = node.required(0), node.required(1)
    for x, other in ((a, b), (b, a)):
        value = scalar(other)
        if value is not None and x.constant is None:
            return x, value
    return None


def split_vector(node: Node, size: int) -> tuple[Tensor, Tensor] | None:
    """For `x op constant` in either order with a constant that varies along the last axis only: x and the constant."""
    a, b = node.required(0), node.required(1)
    for x, other in ((a, b), (b, a)):
        data = other.constant
        if data is not None and x.constant is None and data.size == size and data.shape and data.shape[-1] == size:
            return x, other
    return None


def permutation(node: Node, which: str, rank: int) -> tuple[int, ...] | None:
    """A SHUFFLE's transpose cut to the rank, None for the identity."""
    order = tuple(node.attributes[which])[:rank]
    return None if order == tuple(range(rank)) else order


def reshaped_only(node: Node) -> bool:
    """True for a SHUFFLE with fixed dimensions and no transposes."""
    return (
        node.input(1) is None
        and node.attributes["reshape_dims"] is not None
        and permutation(node, "first_transpose", node.required(0).rank) is None
        and permutation(node, "second_transpose", node.output.rank) is None
    )
