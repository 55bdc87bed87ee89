"""What a Qwen bundle carries besides its engine: tokenizer files and text-generation defaults."""

from __future__ import annotations

from families.qwen.configuration import QwenConfig
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.contract import Limits
from trtmc.core.text_assets import DefaultTokens, TextArtifacts, read_text_artifacts


def text_artifacts(checkpoint: Checkpoint, config: QwenConfig, limits: Limits) -> TextArtifacts:
    """Tokenizer, chat template and generation defaults; Transformers has no default token ids for Qwen."""
    return read_text_artifacts(
        checkpoint, vocab_size=config.vocab_size, max_sequence=limits.max_sequence, defaults=DefaultTokens()
    )
