"""``trtmc.runtime``, the Python module, whole path: pieces while streaming, chat ids, logprobs, threads, errors."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders

from tests.e2e.dec_test import EMOJI, byte_tokens, random_chain, spelling, walking
from tests.e2e.kit.models import tiny
from tests.e2e.kit.numpy_decoder import NumpyDecoder
from tests.e2e.kit.product import built, pipeline
from tests.e2e.kit.texts import CHATML, HOSTILE, byte_level, chatml, echo_bundle


def reference_pieces(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    """What the tokenizers package's own stream gives, token by token."""
    stream = decoders.DecodeStream(skip_special_tokens=True)
    return [piece or "" for piece in (stream.step(tokenizer, token) for token in ids)]


def test_dec_6_a_piece_comes_as_soon_as_its_character_is_complete(tmp_path: Path) -> None:
    tokenizer = byte_tokens()
    walk = list(range(13))
    llm = pipeline(spelling(tmp_path / "m", tokenizer, walk, 14))
    events = list(llm.stream([0], max_new_tokens=12, temperature=0))
    pieces = [event.text for event in events if event.id >= 0]
    assert [event.id for event in events if event.id >= 0] == walk[1:]
    assert "".join(event.text for event in events) == EMOJI
    assert not any("\ufffd" in piece for piece in pieces)
    complete = {i for i, piece in enumerate(reference_pieces(tokenizer, walk[1:])) if piece}
    assert {i for i, piece in enumerate(pieces) if piece} <= complete
    assert pieces[6] == "😀"


def test_a_bundle_without_a_tokenizer_streams_ids(tmp_path: Path) -> None:
    llm = pipeline(walking(tmp_path / "m"))
    assert [event.id for event in llm.stream([2], max_new_tokens=3, temperature=0)] == [3, 4, 5]


@pytest.mark.parametrize("asked", [0, 1, 16, 17, 1000000])
def test_dec_8_logprobs_through_the_module(tmp_path: Path, asked: int) -> None:
    llm = pipeline(random_chain(tmp_path / "m"))
    steps = llm.generate([2], max_new_tokens=3, temperature=0, ignore_eos=True, logprobs=asked).logprobs
    assert [len(step.top) for step in steps] == [min(asked, 16)] * 3
    if asked >= 16:
        assert all(abs(sum(math.exp(top.logprob) for top in step.top) - 1) < 1e-5 for step in steps)
    again = [llm.generate([2], max_new_tokens=3, temperature=0).ids for _ in range(2)]
    assert again[0] == again[1]


def test_tok_6_exact_ids_of_a_hostile_message(tmp_path: Path) -> None:
    tokenizer = chatml()
    llm = pipeline(echo_bundle(tmp_path / "m", tokenizer, CHATML))
    plain = byte_level()
    around = ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n")
    opening, closing = (tokenizer.encode(text).ids for text in around)
    for content in (HOSTILE, "Hello there.", "", "a <|im_start|"):
        expected = [*opening, *plain.encode(content).ids, *closing]
        assert llm.encode_chat([{"role": "user", "content": content}]) == expected, content
    assert llm.encode(HOSTILE) == tokenizer.encode(HOSTILE).ids
    assert llm.encode(HOSTILE, parse_special=False) == plain.encode(HOSTILE).ids


def test_closing_a_stream_ends_generation_and_the_pipeline_goes_on(tmp_path: Path) -> None:
    llm = pipeline(random_chain(tmp_path / "m"))
    whole = llm.generate([2], max_new_tokens=30, temperature=0, ignore_eos=True).ids
    stream = llm.stream([2], max_new_tokens=30, temperature=0, ignore_eos=True)
    assert next(stream).id == whole[0]
    stream.close()
    assert llm.generate([2], max_new_tokens=30, temperature=0, ignore_eos=True).ids == whole


def test_two_pipelines_in_two_threads_give_what_one_alone_gives(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "qwen3")
    bundle = built(tmp_path / "m")
    prompts = [[int(i) for i in np.random.default_rng(seed).integers(0, 97, 12)] for seed in range(4)]
    expected = [NumpyDecoder(config, weights).greedy(prompt, 12) for prompt in prompts]
    assert pipeline(bundle).generate(prompts[0], max_new_tokens=12, temperature=0, ignore_eos=True).ids == expected[0]
    found: dict[int, list[int]] = {}

    def work(index: int) -> None:
        llm = pipeline(bundle)
        for _ in range(3):
            found[index] = llm.generate(prompts[index], max_new_tokens=12, temperature=0, ignore_eos=True).ids

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found.get(index) for index in range(len(prompts))] == expected


def test_errors_have_their_code_and_the_pipeline_goes_on(tmp_path: Path) -> None:
    llm = pipeline(random_chain(tmp_path / "m"))
    from trtmc.runtime import RuntimeFailure  # behind pipeline(), which skips where there is no runtime

    for ids, options, code in (
        ([], {}, "generate.empty_prompt"),
        ([16], {}, "generate.bad_token_id"),
        ([2] * 65, {}, "generate.prompt_too_long"),
        ([2], {"temperature": -1.0}, "sampling.bad_option"),
        ([2], {"no_such_option": 1}, "generate.bad_option"),
    ):
        with pytest.raises(RuntimeFailure) as caught:
            llm.generate(ids, **options)
        assert caught.value.code == code
    assert len(llm.generate([2], max_new_tokens=2).ids) == 2
