"""Decoding, sampling and the cache: the chain model forces any sequence, so every expectation is exact."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models

from tests.e2e.kit.models import chain, tiny, walk_table
from tests.e2e.kit.numpy_decoder import NumpyDecoder
from tests.e2e.kit.product import Outcome, answer, built, trtmc
from tests.e2e.kit.texts import add_text, letters

VOCAB = 16
EMOJI = "hi 😀 é 한"


def run(bundle: Path, ids: str, *arguments: str) -> Outcome:
    return trtmc("run", str(bundle), "--ids", ids, "--json", *arguments)


def generated(bundle: Path, ids: str, *arguments: str) -> list[int]:
    done = run(bundle, ids, "--ignore-eos", *arguments)
    assert done.exit_code == 0, done.stderr
    return [int(i) for i in done.json["ids"]]


def walking(folder: Path, generation: dict[str, object] | None = None, **edit: object) -> Path:
    """From 2 the greedy walk is 3 4 5 6 7 8."""
    chain(folder, walk_table([2, 3, 4, 5, 6, 7, 8], VOCAB), **edit)
    if generation is not None:
        (folder / "generation_config.json").write_text(json.dumps(generation))
    return built(folder)


def random_chain(folder: Path, seed: int = 3) -> Path:
    """Every row a different mild distribution."""
    chain(folder, np.random.default_rng(seed).normal(0, 2, (VOCAB, VOCAB)).astype(np.float32))
    return built(folder)


@pytest.mark.parametrize(
    ("generation", "config_eos", "expected"),
    [
        ({"eos_token_id": [9, 7]}, 5, [3, 4, 5, 6, 7]),
        (None, 5, [3, 4, 5]),
        (None, [12, 6], [3, 4, 5, 6]),
        ({"eos_token_id": 4}, [12, 6], [3, 4]),
    ],
    ids=["generation_list", "config_number", "config_list", "generation_number"],
)
def test_dec_1_several_end_tokens(
    tmp_path: Path, generation: dict[str, object] | None, config_eos: object, expected: list[int]
) -> None:
    bundle = walking(tmp_path / "m", generation, eos_token_id=config_eos)
    done = run(bundle, "2", "--max-new-tokens", "20")
    assert done.json["ids"] == expected
    assert done.json["finish_reason"] == "stop"


@pytest.mark.parametrize("temperature", ["0", "0.0", "1e-6", "1e-30"])
@pytest.mark.parametrize(
    "more", [[], ["--top-p", "0.9", "--min-p", "0.1", "--seed", "1"]], ids=["alone", "with_others"]
)
def test_dec_2_temperature_zero_is_greedy(tmp_path: Path, temperature: str, more: list[str]) -> None:
    bundle = random_chain(tmp_path / "m")
    made = generated(bundle, "2", "-n", "12", "--temperature", temperature, *more)
    assert made == generated(bundle, "2", "-n", "12")


@pytest.mark.parametrize("temperature", ["-1", "nan", "inf", "-inf"])
def test_dec_2_a_meaningless_temperature_is_an_error_naming_it(tmp_path: Path, temperature: str) -> None:
    done = run(random_chain(tmp_path / "m"), "2", f"--temperature={temperature}")
    assert done.exit_code in (2, 3)
    assert "temperature" in done.stderr


def test_dec_3_top_k_at_and_beyond_the_vocabulary(tmp_path: Path) -> None:
    bundle = random_chain(tmp_path / "m")
    sampled = ["-n", "40", "--temperature", "1.5", "--seed", "11"]
    made = {k: generated(bundle, "2", *sampled, "--top-k", k) for k in ("0", "1", "15", "16", "17", "2147483647")}
    assert made["16"] == made["17"] == made["2147483647"] == made["0"]
    assert made["1"] == generated(bundle, "2", "-n", "40")
    assert made["0"] != made["1"]


def test_dec_3_a_negative_top_k_is_an_error_naming_it(tmp_path: Path) -> None:
    done = run(random_chain(tmp_path / "m"), "2", "--top-k=-1", "--temperature", "1")
    assert done.exit_code in (2, 3)
    assert "top" in done.stderr


@pytest.mark.parametrize(("temperature", "kept"), [("1", 3), ("3", 4), ("0.5", 2)])
def test_dec_4_temperature_comes_before_min_p(tmp_path: Path, temperature: str, kept: int) -> None:
    table = np.full((VOCAB, VOCAB), -60.0, np.float32)
    table[:, :4] = np.log([0.5, 0.3, 0.15, 0.05])
    chain(tmp_path / "m", table, max_position_embeddings=1024)
    bundle = built(tmp_path / "m")
    arguments = ["-n", "500", "--min-p", "0.25", "--temperature", temperature, "--seed", "5", "--ignore-eos"]
    done = run(bundle, "2", *arguments)
    assert set(done.json["ids"]) == set(range(kept))
    order = json.dumps(done.json["sampling"]["order"])
    assert order.index("temperature") < order.index("min")


def spelling(folder: Path, tokenizer: Tokenizer, walk: list[int], vocab: int) -> Path:
    """A bundle that says the walk's tokens one after the other."""
    chain(folder, walk_table(walk, vocab), eos_token_id=None)  # absent means 2 to Transformers, which is on the way
    add_text(folder, tokenizer)
    return built(folder)


def test_dec_5_a_stop_text_over_seven_tokens(tmp_path: Path) -> None:
    bundle = spelling(tmp_path / "m", letters("ABCDEFGHIJKLMNOP"), list(range(2, 12)), VOCAB)
    done = run(bundle, "2", "--stop", "DEFGHIJ", "-n", "20")
    assert done.json["text"] == ""
    assert done.json["finish_reason"] == "stop"
    assert done.json["stop_text"] == "DEFGHIJ"
    assert done.json["generated_tokens"] == 7
    streamed = trtmc("run", str(bundle), "--ids", "2", "--stop", "DEFGHIJ", "-n", "20")
    assert streamed.stdout.strip() == ""


def test_dec_5_a_text_that_only_begins_like_the_stop_text_is_shown_whole(tmp_path: Path) -> None:
    bundle = spelling(tmp_path / "m", letters("ABCDEFGHIJKLMNOP"), list(range(2, 12)), VOCAB)
    done = run(bundle, "2", "--stop", "DEFGHX", "-n", "8")
    assert done.json["text"] == "DEFGHIJK"
    streamed = trtmc("run", str(bundle), "--ids", "2", "--stop", "DEFGHX", "-n", "8")
    assert streamed.stdout.strip() == "DEFGHIJK"


def byte_tokens() -> Tokenizer:
    """One byte per token; a space stands with the byte behind it, so that every token of the walk is another one."""
    return letters(["!", "h", "i", "Ġ", "ð", "Ł", "ĺ", "Ģ", "ĠÃ", "©", "Ġí", "ķ", "ľ", "?"])


def fallback_tokens() -> Tokenizer:
    """The same text by byte-fallback tokens."""
    tokens = ["!", "h", "i", "▁", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "▁é", "?", "▁", "<0xED>", "<0x95>", "<0x9C>"]
    tokens[10] = "▁▁"
    tokenizer = Tokenizer(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=[]))
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


@pytest.mark.parametrize(
    ("tokenizer", "walk", "text"),
    [
        (byte_tokens(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12], EMOJI),
        (fallback_tokens(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13], "hi 😀 é  한"),
    ],
    ids=["byte_level", "byte_fallback"],
)
def test_dec_6_a_character_split_over_tokens(tmp_path: Path, tokenizer: Tokenizer, walk: list[int], text: str) -> None:
    bundle = spelling(tmp_path / "m", tokenizer, walk, 14)
    count = str(len(walk) - 1)
    assert run(bundle, "0", "-n", count).json["text"] == text
    streamed = trtmc("run", str(bundle), "--ids", "0", "-n", count)
    assert "\ufffd" not in streamed.stdout
    assert streamed.stdout.rstrip("\n") == text


@pytest.mark.parametrize("model_type", ["llama", "mistral", "qwen2", "qwen3"])
def test_dec_7_one_token_to_prefill(tmp_path: Path, model_type: str) -> None:
    config, weights = tiny(tmp_path / "m", model_type)
    oracle = NumpyDecoder(config, weights)
    runner = answer(built(tmp_path / "m"))
    assert runner.greedy([5], 10) == oracle.greedy([5], 10)
    long = [int(i) for i in np.random.default_rng(4).integers(0, 97, 20)]
    expected = oracle.greedy(long, 3)
    assert runner.greedy(long, 3) == expected
    assert runner.greedy(long, 3) == expected
    longer = [*long, 11]
    assert runner.greedy(longer, 6) == oracle.greedy(longer, 6)


@pytest.mark.parametrize("asked", [0, 1, 16, 17, 1000000])
def test_dec_8_more_logprobs_than_vocabulary(tmp_path: Path, asked: int) -> None:
    bundle = random_chain(tmp_path / "m")
    done = run(bundle, "2", "-n", "4", "--ignore-eos", "--logprobs", str(asked))
    assert done.exit_code == 0, done.stderr
    steps = done.json["logprobs"]
    assert len(steps) == 4
    assert all(len(step["top"]) == min(asked, VOCAB) for step in steps)
    if asked >= VOCAB:
        assert all(abs(sum(math.exp(top["logprob"]) for top in step["top"]) - 1) < 1e-5 for step in steps)
    table = np.random.default_rng(3).normal(0, 2, (VOCAB, VOCAB))
    first = table[2] - np.log(np.exp(table[2]).sum())
    assert abs(steps[0]["logprob"] - first.max()) < 1e-3


def test_dec_8_a_negative_count_is_an_error(tmp_path: Path) -> None:
    done = run(random_chain(tmp_path / "m"), "2", "--logprobs=-1")
    assert done.exit_code in (2, 3)
    assert "logprobs" in done.stderr
