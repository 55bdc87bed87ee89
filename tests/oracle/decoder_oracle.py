"""The oracle for decoders: HF Transformers on the CPU in float32, as greedy ids, margins and logits.

Runs only where golden files are made (it needs torch and transformers); the tests read the files. Knows Transformers
and ``trtmc.e2e.goldens``; imports nothing of the builder or the runtime, so that it cannot share their mistakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from trtmc.e2e.goldens import GoldenTurn, LogitRow, make_row


class Oracle:
    """One checkpoint folder, loaded once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        loaded = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
        self._model, info = loaded
        problems = {key: value for key, value in info.items() if value}
        if problems:
            raise SystemExit(f"{folder}: the oracle did not load every tensor: {problems}")
        self._model.eval()
        has_text = (folder / "tokenizer.json").is_file()
        self.tokenizer = AutoTokenizer.from_pretrained(folder) if has_text else None

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """The ids that end an answer, as generation_config.json or config.json say."""
        value = self._model.generation_config.eos_token_id
        if value is None:
            return ()
        return (value,) if isinstance(value, int) else tuple(value)

    def logits(self, ids: Sequence[int]) -> np.ndarray:
        """All rows of logits of one sequence, without a cache."""
        with torch.inference_mode():
            out = self._model(input_ids=torch.tensor([list(ids)]), use_cache=False)
        return out.logits[0].numpy()

    def answer(self, prompt_ids: Sequence[int], new_tokens: int, row_count: int, stop_at_eos: bool) -> GoldenTurn:
        """Greedy continuation, the margin of each choice, and ``row_count`` rows of logits."""
        ids = list(prompt_ids)
        greedy = self._greedy(ids, new_tokens, stop_at_eos)
        whole = self.logits([*ids, *greedy])
        choices = whole[len(ids) - 1 : len(ids) - 1 + len(greedy)]
        if choices.argmax(-1).tolist() != greedy:
            raise SystemExit("the oracle with its cache and without it chose other ids; pick another prompt")
        best_two = np.sort(choices, axis=-1)[:, -2:]
        margins = [round(float(high - low), 5) for low, high in best_two]
        rows = [make_row(row, whole[row]) for row in pick_rows(len(ids), len(whole) - 1, row_count)]
        return self._turn(ids, greedy, margins, rows)

    def _greedy(self, ids: list[int], new_tokens: int, stop_at_eos: bool) -> list[int]:
        made: list[int] = []
        cache = None
        tokens = torch.tensor([ids])
        with torch.inference_mode():
            for _ in range(new_tokens):
                out = self._model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1)
                cache = out.cache
                tokens = out.logits[:, -1].argmax(-1, keepdim=True)
                made.append(int(tokens))
                if stop_at_eos and made[-1] in self.eos_ids:
                    break
        return made

    def _turn(self, ids: list[int], greedy: list[int], margins: list[float], rows: list[LogitRow]) -> GoldenTurn:
        decode = self.tokenizer.decode if self.tokenizer is not None else lambda _ids, **_: ""
        return GoldenTurn(
            prompt_ids=tuple(ids),
            greedy_ids=tuple(greedy),
            margins=tuple(margins),
            rows=tuple(rows),
            prompt_text=decode(ids),
            answer_text=decode([i for i in greedy if i not in self.eos_ids], skip_special_tokens=False),
        )

    def conversation(self, turns: Sequence[str], new_tokens: int, row_count: int) -> list[GoldenTurn]:
        """User turns one after the other; each prompt is the whole conversation through the checkpoint's template."""
        if self.tokenizer is None:
            raise SystemExit(f"{self.folder} has no tokenizer.json, so it cannot chat")
        messages: list[dict[str, str]] = []
        made: list[GoldenTurn] = []
        for turn in turns:
            messages.append({"role": "user", "content": turn})
            encoded = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=True)
            made.append(self.answer(encoded["input_ids"], new_tokens, row_count, stop_at_eos=True))
            messages.append({"role": "assistant", "content": made[-1].answer_text})
        return made


def pick_rows(prompt_length: int, last: int, count: int) -> list[int]:
    """Rows worth keeping: the end of the prompt, the end of the answer, the first, and some in between."""
    wanted = [prompt_length - 1, last, 0, prompt_length // 2, prompt_length + 15, prompt_length + 40]
    unique = list(dict.fromkeys(row for row in wanted if 0 <= row <= last))
    return sorted(unique[:count])
