"""All patterns in order, and the check that a decoder lost none of them.

The check compares counts taken before fusing (one Attention per attention layer, one Linear per matrix multiplication,
...) and refuses any layer that is left over: fusion is either complete or an error that names the layers.
"""

from __future__ import annotations

from collections import Counter

from trtmc.compilers.openvino.graph.graph import Graph
from trtmc.compilers.openvino.patterns.add import fuse_add
from trtmc.compilers.openvino.patterns.attention import fuse_attention
from trtmc.compilers.openvino.patterns.gated_activation import fuse_gated_activation
from trtmc.compilers.openvino.patterns.linear import fuse_bias, fuse_linear, fuse_residual
from trtmc.compilers.openvino.patterns.rms_norm import fuse_rms_norm
from trtmc.compilers.openvino.patterns.rows import drop_row_reshapes, fuse_embedding, fuse_gather_rows
from trtmc.core.errors import Unsupported

OWN = "trtmc."
_SHOWN = 5
_WAY_OUT = "build with the compile option kernels=openvino, which needs no fusion"


def fuse_decoder(graph: Graph) -> dict[str, int]:
    """Rewrites a simplified graph into own operations only; returns their counts by name."""
    before = Counter(node.kind for node in graph)
    fuse_embedding(graph)
    fuse_rms_norm(graph)
    fuse_linear(graph)
    fuse_bias(graph)
    fuse_attention(graph)
    fuse_gather_rows(graph)
    drop_row_reshapes(graph)
    fuse_gated_activation(graph)
    fuse_residual(graph)
    fuse_add(graph)
    counts = {kind: n for kind, n in graph.counts().items() if kind.startswith(OWN)}
    _check(graph, before, counts)
    return counts


def _check(graph: Graph, before: Counter[str], counts: dict[str, int]) -> None:
    left = [node for node in graph.ordered() if not node.kind.startswith(OWN) and node.kind != "CONSTANT"]
    if left:
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(Counter(node.kind for node in left).items()))
        names = ", ".join(f"'{node.name}'" for node in left[:_SHOWN])
        raise Unsupported(
            "engine.unfused",
            f"no own operation covers {len(left)} layers ({kinds}), the first of which are {names}; {_WAY_OUT}",
        )
    for kind, source in (("trtmc.Attention", "ATTENTION_OUTPUT"), ("trtmc.Linear", "MATRIX_MULTIPLY")):
        if counts.get(kind, 0) != before[source]:
            raise Unsupported(
                "engine.lost_fusion",
                f"expected {before[source]} {kind} for as many {source} layers, found {counts.get(kind, 0)}; "
                f"{_WAY_OUT}",
            )
    if before["KV_CACHE_UPDATE"] != 2 * counts.get("trtmc.Attention", 0):
        raise Unsupported(
            "engine.lost_fusion",
            f"{before['KV_CACHE_UPDATE']} cache updates for {counts.get('trtmc.Attention', 0)} attentions, "
            f"expected two each; {_WAY_OUT}",
        )
