"""Toy's tokenizer files and generation defaults."""

from __future__ import annotations

from families.toy.configuration import ToyConfig
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.contract import Limits
from trtmc.core.text_assets import DefaultTokens, TextArtifacts, read_text_artifacts


def text_artifacts(checkpoint: Checkpoint, config: ToyConfig, limits: Limits) -> TextArtifacts:
    """Tokenizer, chat template and generation defaults of the checkpoint."""
    return read_text_artifacts(
        checkpoint, vocab_size=config.vocab_size, max_sequence=limits.max_sequence, defaults=DefaultTokens()
    )
