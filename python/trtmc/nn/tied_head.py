"""A tied head whose checkpoint also stores one: fine if it is the same, an error if it is not."""

from __future__ import annotations

from trtmc.core.errors import BadInput
from trtmc.core.weights import WeightSource


def settle_tied_head(source: WeightSource, *, head: str, embedding: str) -> None:
    """Accounts for a stored copy of the embedding; call only if the config ties the two."""
    if head not in source.files:
        return
    if not source.same_bytes(head, embedding):
        raise BadInput(
            "weights.tied_mismatch",
            f"{source.files.folder}: 'tie_word_embeddings' is true, but '{head}' differs from '{embedding}'; "
            "correct the config or the weights",
        )
    source.skip(head)
