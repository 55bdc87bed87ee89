"""A byte-level BPE tokenizer made here, small enough for tiny checkpoints, and a ChatML chat template.

The 256 bytes are always there, so any text can be written and read back; the remaining ids are merges learned from a
few sentences of our own, and three control tokens at the end. Same size, same bytes. The pre-tokenizer and the
normalizer are those of Qwen's tokenizers.

This module knows the layout of tokenizer.json and nothing about weights.

    write_tiny_text(Path("out"), vocab_size=512)
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from trtmc.checkpoints.files import JsonValue, write_json
from trtmc.core.errors import UsageError

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

CHAT_TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)

_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)

_SENTENCES = """
A small model learns nothing here, yet every sentence must come back as it was written. The quick answer is the right
answer when the question is short. Where do the weights come from, and what is in the file? They come from a seed, and
the file holds their names, shapes and values. The user asks, the assistant answers, and the system listens. One
network reads the prompt, another writes the next token, and the cache keeps the keys and the values of all that went
before. In the morning the river is cold; in the evening the stones are warm. There are seven days in the week and
twelve months in the year. Write a line, read a line, then write the other line again. What is the capital of the
country on the other side of the mountain? Nobody here knows the name of the city, but the map on the table shows the
road, the bridge and the station.
"""


@dataclass(frozen=True)
class TinyVocabulary:
    """Tokens in id order without the control tokens, and the merges that made them."""

    tokens: list[str]
    merges: list[tuple[str, str]]

    @property
    def control_ids(self) -> dict[str, int]:
        """The control tokens follow the others."""
        return {token: len(self.tokens) + i for i, token in enumerate(CONTROL_TOKENS)}


def byte_alphabet() -> list[str]:
    """GPT-2's visible character for each byte, in the order of their ids: printable bytes first."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]


def learn(vocab_size: int) -> TinyVocabulary:
    """The most frequent pair first, ties by spelling, until `vocab_size` tokens are there, control tokens included."""
    count = vocab_size - 256 - len(CONTROL_TOKENS)
    if count < 0:
        raise UsageError("tiny.vocab_size", f"vocab_size {vocab_size}: at least {256 + len(CONTROL_TOKENS)} are needed")
    tokens = byte_alphabet()
    taken = set(tokens)
    words = Counter(tuple("\u0120" + word) for word in _SENTENCES.split())
    merges: list[tuple[str, str]] = []
    while len(merges) < count:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, times in words.items():
            for pair in itertools.pairwise(word):
                pairs[pair] += times
        fresh = {pair: times for pair, times in pairs.items() if "".join(pair) not in taken}
        if not fresh:
            largest = 256 + len(CONTROL_TOKENS) + len(merges)
            raise UsageError("tiny.vocab_size", f"vocab_size {vocab_size}: at most {largest} can be learned")
        best = min(fresh, key=lambda pair: (-fresh[pair], pair))
        merges.append(best)
        tokens.append("".join(best))
        taken.add(tokens[-1])
        words = Counter({_merged(word, best): times for word, times in words.items()})
    return TinyVocabulary(tokens, merges)


def _merged(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    result: list[str] = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            result.append("".join(pair))
            i += 2
        else:
            result.append(word[i])
            i += 1
    return tuple(result)


def tokenizer_json(vocabulary: TinyVocabulary) -> dict[str, JsonValue]:
    """The content of tokenizer.json."""
    byte_level: JsonValue = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split: JsonValue = {"type": "Split", "pattern": {"Regex": _SPLIT}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, **_flags(token)} for token, index in vocabulary.control_ids.items()],
        "normalizer": {"type": "NFC"},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(vocabulary.tokens)},
            "merges": [list(pair) for pair in vocabulary.merges],
        },
    }


def _flags(token: str) -> dict[str, JsonValue]:
    flags: dict[str, JsonValue] = dict.fromkeys(("lstrip", "normalized", "rstrip", "single_word"), False)
    return {"content": token, **flags, "special": True}


def write_tiny_text(folder: Path, vocab_size: int, model_max_length: int = 512) -> TinyVocabulary:
    """Writes tokenizer.json and tokenizer_config.json (with the chat template) into an existing folder."""
    vocabulary = learn(vocab_size)
    config: dict[str, JsonValue] = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "added_tokens_decoder": {str(index): _flags(token) for token, index in vocabulary.control_ids.items()},
        "bos_token": None,
        "chat_template": CHAT_TEMPLATE,
        "clean_up_tokenization_spaces": False,
        "eos_token": "<|im_end|>",
        "model_max_length": model_max_length,
        "pad_token": "<|endoftext|>",
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": None,
    }
    write_json(folder / "tokenizer.json", tokenizer_json(vocabulary), compact=True)
    write_json(folder / "tokenizer_config.json", config)
    return vocabulary
