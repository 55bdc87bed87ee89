"""Row lookups: EmbeddingGather from a constant table, GatherRows for the rows whose logits are wanted."""

from __future__ import annotations

from trtmc.compilers.openvino.graph.graph import Graph, Node, Tensor
from trtmc.compilers.openvino.patterns.matching import made_by, reshaped_only
from trtmc.core.dtype import COMPUTE_DTYPES

EMBEDDING = "trtmc.EmbeddingGather"
ROWS = "trtmc.GatherRows"


def _is_row_gather(node: Node) -> bool:
    attributes = node.attributes
    return (
        node.kind == "GATHER"
        and (attributes["mode"], attributes["axis"]) == ("DEFAULT", 0)
        and not attributes["num_elementwise_dims"]
    )


def fuse_embedding(graph: Graph) -> int:
    """A gather along the rows of a constant matrix."""
    matched = 0
    for node in graph.ordered():
        if not _is_row_gather(node):
            continue
        data = node.required(0).constant
        if data is None or len(data.shape) != 2 or data.dtype not in COMPUTE_DTYPES:
            continue
        inputs = [node.required(1), node.required(0)]
        graph.replace(node.output, graph.new(EMBEDDING, node.name, inputs, node.output.dtype, node.output.shape))
        matched += 1
    graph.prune()
    return matched


def fuse_gather_rows(graph: Graph) -> int:
    """A gather of rows from [batch, rows, width] flattened to [batch*rows, width] (or with a 1 in between)."""
    matched = 0
    for node in graph.ordered():
        if not _is_row_gather(node) or node.required(0).constant is not None or node.required(1).rank != 1:
            continue
        source = _flattened(node.required(0))
        if source is None:
            continue
        width = source.shape[-1]
        inputs = [source, node.required(1)]
        shape = (node.output.shape[0], width)
        graph.replace(node.output, graph.new(ROWS, node.name, inputs, node.output.dtype, shape))
        matched += 1
    graph.prune()
    return matched


def _flattened(tensor: Tensor) -> Tensor | None:
    """x of x.reshape(-1, width) or x.reshape(-1, 1, width); a matrix is flat already."""
    node = made_by(tensor, "SHUFFLE")
    if node is None or not reshaped_only(node):
        return tensor if tensor.rank == 2 else None
    source, dims = node.required(0), tuple(node.attributes["reshape_dims"])
    if source.shape[-1] > 0 and dims in ((-1, source.shape[-1]), (-1, 1, source.shape[-1])):
        return source
    return None


def drop_row_reshapes(graph: Graph) -> int:
    """Behind GatherRows everything is [rows, width], so reshapes that only add or drop ones say nothing."""
    dropped = 0
    for node in graph.ordered():
        if node.kind not in ("SHUFFLE", "SQUEEZE", "UNSQUEEZE") or (node.kind == "SHUFFLE" and not reshaped_only(node)):
            continue
        source = node.required(0)
        own = source.producer is not None and source.producer.kind.startswith("trtmc.")
        same_width = source.shape[-1] > 0 and node.output.shape[-1] == source.shape[-1]
        if own and same_width and sum(d != 1 for d in node.output.shape) <= 2 and _behind_rows(source):
            graph.replace(node.output, source)
            dropped += 1
    graph.prune()
    return dropped


def _behind_rows(tensor: Tensor) -> bool:
    """True if the activation chain leads back to a GatherRows."""
    node = tensor.producer
    while node is not None and node.kind.startswith("trtmc."):
        if node.kind == ROWS:
            return True
        node = node.required(0).producer
    return False
