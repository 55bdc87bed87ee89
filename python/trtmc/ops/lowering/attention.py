"""The native attention and KV-cache-update layers."""

from __future__ import annotations

from typing import Any

from trtmc.ops.lowering import elementwise as ew
from trtmc.ops.lowering.api import FROM_TRT, trt
from trtmc.ops.lowering.network import NetworkLowering


def kv_cache_update(net: NetworkLowering, cache: Any, update: Any, write_indices: Any) -> Any:
    """Linear cache: row write_indices[b] + s of the cache becomes row s of the update, in place."""
    layer = net.network.add_kv_cache_update(cache, update, write_indices, trt.KVCacheMode.LINEAR)
    return net.output(layer, "kv_cache_update")


def causal_attention(net: NetworkLowering, query: Any, key: Any, value: Any, lengths: Any, scale: float) -> Any:
    """Causal from the lower right corner of the valid part; the query is scaled, since TensorRT doesn't."""
    scaled = (
        query
        if scale == 1.0
        else ew.binary(net, query, net.scalar(scale, FROM_TRT[query.dtype], 4), trt.ElementWiseOperation.PROD, "scale")
    )
    layer = net.network.add_attention_v2(
        scaled, key, value, trt.AttentionNormalizationOp.SOFTMAX, trt.CausalMaskKind.LOWER_RIGHT
    )
    if layer is not None:
        layer.decomposable = True
        layer.key_value_lengths = lengths
    return net.output(layer, "attention")
