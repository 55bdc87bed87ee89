"""Turns the tensors of a llama-architecture GGUF file into Hugging Face weights, chunk by chunk.

Two things differ between the layouts: the names, and the row order of the query and key projections, which GGUF stores
with the two halves of each rotary pair next to each other. Everything else is dequantisation, done by the `gguf`
package a few rows at a time.

This module does not know tokenizers or configuration files, and writes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from gguf import GGUFReader, dequantize
from gguf.gguf_reader import ReaderTensor

from trtmc.core.errors import BadInput, Unsupported

#: Float32 elements that are alive at once while a tensor is dequantised (16 MiB).
CHUNK_ELEMENTS = 4 << 20

_OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_FLOAT16_MAX = 65504.0


@dataclass(frozen=True)
class MappedTensor:
    """One GGUF tensor with its Hugging Face name; `rotary_heads` > 0 asks for the rows to be put back in order."""

    name: str
    shape: tuple[int, ...]
    source: ReaderTensor
    rotary_heads: int

    def chunks(self, dtype: np.dtype) -> Iterator[np.ndarray]:
        """The values as contiguous blocks of whole rows, in `dtype`; an overflow is an error that names the tensor."""
        if len(self.shape) == 1:
            yield self._narrow(_dequantized(self.source, self.source.data), dtype)
            return
        rows, columns = self.shape
        per_head = rows // self.rotary_heads if self.rotary_heads else 1
        step = max(per_head, CHUNK_ELEMENTS // columns // per_head * per_head)
        for start in range(0, rows, step):
            block = _dequantized(self.source, self.source.data[start : start + step])
            if self.rotary_heads:
                block = split_rotary_pairs(block, per_head)
            yield self._narrow(block, dtype)

    def _narrow(self, block: np.ndarray, dtype: np.dtype) -> np.ndarray:
        if not np.isfinite(block).all():
            raise BadInput("checkpoint.not_finite", f"tensor '{self.source.name}' holds NaN or infinity")
        if dtype == np.float16 and float(np.abs(block).max(initial=0.0)) > _FLOAT16_MAX:
            raise BadInput(
                "checkpoint.overflow",
                f"tensor '{self.source.name}' holds {np.abs(block).max():g}, more than float16 can (65504); "
                "convert to float32 instead",
            )
        return np.ascontiguousarray(block, dtype=dtype)


def split_rotary_pairs(rows: np.ndarray, per_head: int) -> np.ndarray:
    """[heads * per_head, k]: from pairs side by side (0, h, 1, h+1, …) to first halves, then second halves."""
    heads = rows.shape[0] // per_head
    return rows.reshape(heads, per_head // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def map_tensors(reader: GGUFReader, heads: int, kv_heads: int) -> list[MappedTensor]:
    """Every tensor of the file under its new name, in file order; one without a rule is refused by name."""
    mapped = [_map_tensor(tensor, heads, kv_heads) for tensor in reader.tensors]
    seen: set[str] = set()
    for tensor in mapped:
        if tensor.name in seen:
            raise BadInput("checkpoint.duplicate_tensor", f"two tensors of the file are '{tensor.name}'")
        seen.add(tensor.name)
    return mapped


def _map_tensor(tensor: ReaderTensor, heads: int, kv_heads: int) -> MappedTensor:
    shape = tuple(int(n) for n in reversed(tensor.shape))
    if tensor.name in _OUTER_NAMES:
        return MappedTensor(_OUTER_NAMES[tensor.name], shape, tensor, 0)
    block, _, rest = tensor.name.partition(".")
    layer, _, rest = rest.partition(".")
    kind, _, suffix = rest.rpartition(".")
    if block != "blk" or not layer.isdigit() or kind not in _LAYER_NAMES or suffix not in ("weight", "bias"):
        raise Unsupported(
            "checkpoint.unknown_tensor",
            f"tensor '{tensor.name}' of the GGUF file has no counterpart in the Hugging Face llama layout",
        )
    rotary = {"attn_q": heads, "attn_k": kv_heads}.get(kind, 0)
    if suffix == "bias" and rotary:
        raise Unsupported("checkpoint.unknown_tensor", f"tensor '{tensor.name}': rotary projections with bias")
    return MappedTensor(f"model.layers.{int(layer)}.{_LAYER_NAMES[kind]}.{suffix}", shape, tensor, rotary)


def _dequantized(tensor: ReaderTensor, data: np.ndarray) -> np.ndarray:
    try:
        values = dequantize(data, tensor.tensor_type)
    except NotImplementedError as error:
        kind = tensor.tensor_type.name
        raise Unsupported("checkpoint.quantization", f"tensor '{tensor.name}': cannot dequantise {kind}") from error
    expected = math.prod(data.shape[:-1])
    if values.ndim > 1 and values.shape[0] != expected:
        raise BadInput("checkpoint.shape", f"tensor '{tensor.name}': {values.shape[0]} rows, expected {expected}")
    return values.astype(np.float32, copy=False)
