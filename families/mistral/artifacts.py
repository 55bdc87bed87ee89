"""What a Mistral bundle carries besides its engine: tokenizer files and text-generation defaults."""

from __future__ import annotations

from families.mistral.configuration import MistralConfig
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.contract import Limits
from trtmc.core.text_assets import DefaultTokens, TextArtifacts, read_text_artifacts

_DEFAULTS = DefaultTokens(bos=1, eos=2)  # of Transformers' MistralConfig, for a config.json that has no such keys


def text_artifacts(checkpoint: Checkpoint, config: MistralConfig, limits: Limits) -> TextArtifacts:
    """Tokenizer, chat template and generation defaults of the checkpoint."""
    return read_text_artifacts(
        checkpoint, vocab_size=config.vocab_size, max_sequence=limits.max_sequence, defaults=_DEFAULTS
    )
