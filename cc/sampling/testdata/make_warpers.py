"""Makes warpers.json: which ids Hugging Face Transformers' own logits processors keep.

The processors run in the order that `generate` puts them: repetition penalty, temperature, top-k,
top-p, min-p. Needs torch and transformers; the C++ test needs neither.

    python make_warpers.py > warpers.json
"""

from __future__ import annotations

import json
import random
import sys

import torch
import transformers
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)


def processors(options: dict[str, float]) -> LogitsProcessorList:
    chain = LogitsProcessorList()
    if options["repetition_penalty"] != 1:
        chain.append(RepetitionPenaltyLogitsProcessor(options["repetition_penalty"]))
    chain.append(TemperatureLogitsWarper(options["temperature"]))
    if options["top_k"]:
        chain.append(TopKLogitsWarper(int(options["top_k"])))
    if options["top_p"] < 1:
        chain.append(TopPLogitsWarper(options["top_p"]))
    if options["min_p"] > 0:
        chain.append(MinPLogitsWarper(options["min_p"]))
    return chain


def main() -> None:
    rng = random.Random(20)
    cases = []
    for _ in range(300):
        vocab = rng.choice([4, 16, 33])
        options = {
            "repetition_penalty": rng.choice([1.0, 1.1, 1.7, 0.8]),
            "temperature": rng.choice([0.3, 0.7, 1.0, 1.5, 4.0]),
            "top_k": rng.choice([0, 1, 3, vocab, vocab + 9]),
            "top_p": rng.choice([1.0, 0.95, 0.7, 0.2]),
            "min_p": rng.choice([0.0, 0.02, 0.1, 0.5]),
        }
        logits = [round(rng.gauss(0, 3), 3) for _ in range(vocab)]
        history = [rng.randrange(vocab) for _ in range(rng.randrange(6))]
        scores = processors(options)(torch.tensor([history], dtype=torch.long), torch.tensor([logits]))[0]
        probabilities = torch.softmax(scores.double(), -1)
        kept = [i for i in range(vocab) if scores[i] != -float("inf")]
        cases.append(
            {
                "options": options,
                "history": history,
                "logits": logits,
                "kept": kept,
                "probabilities": [round(float(probabilities[i]), 7) for i in kept],
            }
        )
    head = {"transformers": transformers.__version__, "torch": torch.__version__}
    sys.stdout.write(json.dumps({"made_with": head}, separators=(",", ":"))[:-1] + ',"cases":[\n')
    sys.stdout.write(",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]}\n")


if __name__ == "__main__":
    main()
