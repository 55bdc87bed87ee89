"""HF Transformers as a bench peer: eager model, hand-written greedy loop with a dynamic cache.

usage: hf.py CHECKPOINT DTYPE LABEL     (DTYPE: float32, bfloat16 or float16)
"""

from __future__ import annotations

import sys
import time

import torch
from common import NEW_TOKENS, THREADS, Recorder, prompts
from transformers import AutoModelForCausalLM, DynamicCache


def main() -> None:
    """Runs all prompts once."""
    checkpoint, dtype, label = sys.argv[1:4]
    torch.set_num_threads(THREADS)
    model = AutoModelForCausalLM.from_pretrained(checkpoint, dtype=getattr(torch, dtype)).eval()
    recorder = Recorder(label)
    with torch.inference_mode():
        for prompt in prompts():
            tokens, positions = torch.tensor([prompt]), torch.arange(len(prompt))[None]
            cache = DynamicCache(config=model.config)
            moments: list[float] = []
            ids: list[int] = []
            begin = time.time()
            for index in range(NEW_TOKENS):
                out = model(
                    input_ids=tokens, position_ids=positions, past_key_values=cache, use_cache=True, logits_to_keep=1
                )
                tokens = out.logits[:, -1].argmax(-1, keepdim=True)
                ids.append(int(tokens))
                moments.append(time.time())
                positions = torch.tensor([[len(prompt) + index]])
            recorder.add(begin, moments, ids)
    recorder.finish()


if __name__ == "__main__":
    main()
