"""Trains the two small tokenizers of these tests, with the published settings of Qwen and Llama 3. Deterministic.

    python3 tests/text/train_tokenizers.py        # needs tokenizers 0.23.3; writes tests/text/tokenizers/*.json

The corpus is made here from a seed: made-up words, numbers, code, and letters of many scripts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

OUT = Path(__file__).resolve().parent / "tokenizers"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
TAIL = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3_SPLIT = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|" + TAIL
QWEN_SPLIT = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|" + TAIL
SYLLABLES = (
    "an en in on un er ar or th sh ch st tr pr re de co pa ma li lo ing tion ed ly ness able ow ay ee oo ck ll ss"
).split()
COMMON = (
    "the of and to in is that it for was on are as with his they at be this from have or by one had not but what all"
).split()
CODE = (
    "def name(self, value):\n    return self.value + {n}\n",
    "for (int i = 0; i < {n}; ++i) {\n\tsum += a[i];\n}\n",
    "x = [{n}, {n}]\n",
    "if (a != b) { return; }\n",
)
SCRIPTS = (
    (0x4E00, 0x4EFF),
    (0xAC00, 0xAC80),
    (0x3041, 0x3096),
    (0x430, 0x44F),
    (0x5D0, 0x5EA),
    (0x621, 0x64A),
    (0x905, 0x939),
    (0xE01, 0xE2E),
    (0x3B1, 0x3C9),
    (0xE0, 0xFF),
)
EMOJI = (0x1F600, 0x1F64F)


def corpus() -> Iterator[str]:
    """Seeded lines of text."""
    rng = random.Random(20260719)
    words = COMMON * 3 + ["".join(rng.choice(SYLLABLES) for _ in range(rng.randint(1, 4))) for _ in range(3000)]
    for _ in range(6000):
        line = [rng.choice(words) for _ in range(rng.randint(4, 14))]
        line[0] = line[0].capitalize()
        yield " ".join(line) + rng.choice([".", "!", "?", ", ", ":\n", "'s ", " n't", "\n\n"])
        if rng.random() < 0.25:
            yield rng.choice(CODE).replace("{n}", str(rng.randint(0, 99999)))
        if rng.random() < 0.25:
            first, last = rng.choice(SCRIPTS)
            yield " ".join("".join(chr(rng.randint(first, last)) for _ in range(rng.randint(1, 5))) for _ in range(8))
        if rng.random() < 0.05:
            yield "".join(chr(rng.randint(*EMOJI)) for _ in range(3))


def special(text: str) -> AddedToken:
    """A special token as the published files have them."""
    return AddedToken(text, special=True, normalized=False)


def ordinary(text: str) -> AddedToken:
    """An added token that is not special."""
    return AddedToken(text, special=False, normalized=False)


def split_then_bytes(pattern: str) -> pre_tokenizers.PreTokenizer:
    """The pre-tokenizer of both families."""
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated", False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )


def train(tokenizer: Tokenizer) -> None:
    """Learns the merges."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        corpus(), trainers.BpeTrainer(vocab_size=5000, initial_alphabet=alphabet, show_progress=False)
    )


def qwen_style() -> Tokenizer:
    """NFC, single digits, added tokens that are not special."""
    t = Tokenizer(models.BPE(byte_fallback=False))
    t.normalizer = normalizers.NFC()
    t.pre_tokenizer = split_then_bytes(QWEN_SPLIT)
    t.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    t.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    train(t)
    t.add_special_tokens([special(text) for text in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")])
    t.add_tokens([ordinary(text) for text in ("<tool_call>", "</tool_call>", "<think>", "</think>")])
    return t


def llama3_style() -> Tokenizer:
    """ignore_merges, groups of three digits, a post-processor that adds BOS."""
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = split_then_bytes(LLAMA3_SPLIT)
    t.decoder = decoders.ByteLevel()
    train(t)
    bos = "<|begin_of_text|>"
    t.add_special_tokens(
        [special(text) for text in (bos, "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")]
    )
    t.post_processor = processors.Sequence(
        [
            processors.ByteLevel(add_prefix_space=True, trim_offsets=False, use_regex=True),
            processors.TemplateProcessing(
                single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, t.token_to_id(bos))]
            ),
        ]
    )
    return t


def main() -> None:
    """Writes both files."""
    OUT.mkdir(exist_ok=True)
    for name, tokenizer in (("qwen_style", qwen_style()), ("llama3_style", llama3_style())):
        (OUT / f"{name}.json").write_text(tokenizer.to_str(pretty=False), "utf-8")
        print(name, tokenizer.get_vocab_size(), (OUT / f"{name}.json").stat().st_size, "bytes")


if __name__ == "__main__":
    main()
