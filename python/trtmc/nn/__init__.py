"""Architecture-neutral modules that families compose: they know shapes and meanings, no model line and no TensorRT."""

from trtmc.nn.attention import Attention, AttentionConfig, KvCache
from trtmc.nn.basic import Embedding, Linear, RMSNorm
from trtmc.nn.causal_lm import CausalLM, load_causal_lm
from trtmc.nn.decoder import MAX_LAYERS, DecoderLayer, DecoderStep, decoder_inputs, decoder_state
from trtmc.nn.decoder_config import DecoderConfig, read_head_dim, read_kv_heads
from trtmc.nn.mlp import GatedMLP
from trtmc.nn.rope_config import RopeConfig, read_rope_config
from trtmc.nn.rotary import RotaryEmbedding

__all__ = [
    "MAX_LAYERS",
    "Attention",
    "AttentionConfig",
    "CausalLM",
    "DecoderConfig",
    "DecoderLayer",
    "DecoderStep",
    "Embedding",
    "GatedMLP",
    "KvCache",
    "Linear",
    "RMSNorm",
    "RopeConfig",
    "RotaryEmbedding",
    "decoder_inputs",
    "decoder_state",
    "load_causal_lm",
    "read_head_dim",
    "read_kv_heads",
    "read_rope_config",
]
