"""CTranslate2 as a bench peer.

usage: ct2.py MODEL_FOLDER TOKENIZER_JSON COMPUTE_TYPE LABEL
"""

from __future__ import annotations

import sys
import time

import ctranslate2
from common import NEW_TOKENS, THREADS, Recorder, prompts
from tokenizers import Tokenizer


def main() -> None:
    """Runs all prompts once."""
    folder, tokenizer_json, compute_type, label = sys.argv[1:5]
    generator = ctranslate2.Generator(
        folder, device="cpu", compute_type=compute_type, intra_threads=THREADS, inter_threads=1
    )
    tokenizer = Tokenizer.from_file(tokenizer_json)
    recorder = Recorder(label)
    for prompt in prompts():
        moments: list[float] = []
        ids: list[int] = []

        def note(step: object, moments: list[float] = moments, ids: list[int] = ids) -> None:
            moments.append(time.time())
            ids.append(step.token_id)  # type: ignore[attr-defined]

        begin = time.time()
        generator.generate_batch(
            [[tokenizer.id_to_token(token) for token in prompt]],
            max_length=NEW_TOKENS,
            min_length=NEW_TOKENS,
            sampling_topk=1,
            include_prompt_in_result=False,
            end_token=[],
            callback=note,
        )
        recorder.add(begin, moments, ids)
    recorder.finish()


if __name__ == "__main__":
    main()
