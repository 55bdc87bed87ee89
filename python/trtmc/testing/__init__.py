"""Helpers for tests: tiny checkpoints with seeded weights, written without torch."""

from trtmc.testing.tiny import Tiny, safetensors_bytes, tiny_llama, tiny_mistral, tiny_qwen2, tiny_qwen3

__all__ = ["Tiny", "safetensors_bytes", "tiny_llama", "tiny_mistral", "tiny_qwen2", "tiny_qwen3"]
