"""A pre-norm decoder layer, and the tensors that every decoder with a KV cache takes and gives.

Inputs: input_ids, position_ids int64 [batch, sequence]; write_indices, kv_lengths int32 [batch]; logit_rows int64
[rows] (flat index b*sequence + t of the rows whose logits are wanted); k_cache_l, v_cache_l [batch, kv_heads,
capacity, head_dim]. Outputs: logits [rows, vocab] and k_out_l, v_out_l, the same memory as the caches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trtmc.core.contract import Limits, StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.nn.attention import Attention, AttentionConfig, KvCache
from trtmc.nn.basic import RMSNorm
from trtmc.nn.mlp import GatedMLP
from trtmc.nn.rotary import Rotation
from trtmc.ops import Module, Tensor

MAX_LAYERS = 4096
"""More than any model has; a damaged config must not make us define layers until memory ends."""


@dataclass(frozen=True)
class DecoderStep:
    """What all layers of one step share."""

    rotation: Rotation
    write_indices: Tensor
    kv_lengths: Tensor


class DecoderLayer(Module):
    """x + attention(norm(x)), then x + mlp(norm(x))."""

    def __init__(self, attention: AttentionConfig, mlp: GatedMLP, eps: float) -> None:
        self.input_layernorm = RMSNorm(attention.hidden, eps)
        self.self_attn = Attention(attention)
        self.post_attention_layernorm = RMSNorm(attention.hidden, eps)
        self.mlp = mlp

    def forward(self, x: Tensor, step: DecoderStep, cache: KvCache) -> tuple[Tensor, KvCache]:
        attended, cache = self.self_attn(
            self.input_layernorm(x), step.rotation, cache, step.write_indices, step.kv_lengths
        )
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), cache


def decoder_inputs(layers: int, kv_heads: int, head_dim: int, limits: Limits, cache_dtype: DType) -> list[TensorSpec]:
    """The inputs above, in binding order."""
    cache = ("batch", kv_heads, limits.max_sequence, head_dim)
    return [
        TensorSpec("input_ids", DType.I64, ("batch", "sequence")),
        TensorSpec("position_ids", DType.I64, ("batch", "sequence")),
        TensorSpec("write_indices", DType.I32, ("batch",)),
        TensorSpec("kv_lengths", DType.I32, ("batch",)),
        TensorSpec("logit_rows", DType.I64, ("rows",)),
        *(TensorSpec(f"{kind}_cache_{layer}", cache_dtype, cache) for layer in range(layers) for kind in "kv"),
    ]


def decoder_state(layers: int) -> list[StateLink]:
    """Caches are updated in place."""
    return [StateLink(f"{kind}_cache_{layer}", f"{kind}_out_{layer}") for layer in range(layers) for kind in "kv"]


def layer_cache(tensors: Mapping[str, Tensor], layer: int) -> KvCache:
    """The cache inputs of one layer."""
    return KvCache(tensors[f"k_cache_{layer}"], tensors[f"v_cache_{layer}"])


def cache_outputs(caches: list[KvCache]) -> dict[str, Tensor]:
    """The cache outputs of all layers, in binding order."""
    return {
        f"{kind}_out_{layer}": tensor
        for layer, cache in enumerate(caches)
        for kind, tensor in (("k", cache.key), ("v", cache.value))
    }
