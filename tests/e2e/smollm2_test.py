"""The real checkpoint, from text to text: its tokenizer, its chat template, its answers, as Transformers gives them.

TRTMC_SMOLLM2_BUNDLE names the bundle (the build graph sets it); without it, or without a runtime, nothing runs here.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit.product import pipeline, trtmc
from trtmc.e2e.goldens import GoldenTurn, load_golden
from trtmc.e2e.manifest import load_manifest

ROOT = Path(__file__).absolute().parents[2]
MANIFEST = load_manifest(ROOT / "families" / "llama" / "e2e" / "smollm2_135m_instruct.toml")
GOLDEN = load_golden(MANIFEST.golden)
TEXTS = [case for case in MANIFEST.cases if case.text]
CHAT = next(case for case in MANIFEST.cases if case.turns)


def bundle() -> Path:
    path = os.environ.get("TRTMC_SMOLLM2_BUNDLE")
    if not path:
        pytest.skip("needs TRTMC_SMOLLM2_BUNDLE, which the build graph sets")
    return Path(path).absolute()


@cache
def model() -> Any:
    """Loaded once for all tests."""
    return pipeline(bundle())


def turns() -> tuple[GoldenTurn, ...]:
    return GOLDEN.case(CHAT.name).turns


def messages(count: int) -> list[dict[str, str]]:
    """The conversation up to and including the user's turn number ``count``."""
    said: list[dict[str, str]] = []
    for index in range(count):
        said.append({"role": "user", "content": CHAT.turns[index]})
        if index + 1 < count:
            said.append({"role": "assistant", "content": turns()[index].answer_text})
    return said


@pytest.mark.parametrize("case", TEXTS, ids=[case.name for case in TEXTS])
def test_prompt_ids_and_text_back(case: Any) -> None:
    ids = list(GOLDEN.case(case.name).turns[0].prompt_ids)
    assert model().encode(case.text) == ids
    assert model().decode(ids) == case.text


@pytest.mark.parametrize("case", TEXTS[:3], ids=[case.name for case in TEXTS[:3]])
def test_streamed_text_is_the_oracles(case: Any) -> None:
    turn = GOLDEN.case(case.name).turns[0]
    options = {"temperature": 0, "ignore_eos": True, "skip_special": False}
    events = list(model().stream(case.text, max_new_tokens=len(turn.greedy_ids), **options))
    assert [event.id for event in events if event.id >= 0] == list(turn.greedy_ids)
    shown = "".join(event.text for event in events if event.id not in model().eos_token_ids)
    assert shown == turn.answer_text  # which leaves out end tokens that were passed over


def test_a_conversation_of_two_turns() -> None:
    llm = model()
    llm.reset()
    for index, turn in enumerate(turns()):
        said = messages(index + 1)
        assert llm.encode_chat(said) == list(turn.prompt_ids)
        answer = llm.chat(said, max_new_tokens=64, temperature=0)
        assert answer.ids == list(turn.greedy_ids)
        assert answer.text == turn.answer_text
        assert answer.finish_reason == "stop"
        if index:
            assert answer.reused_tokens >= len(turns()[index - 1].prompt_ids)


def test_the_command_line_chats() -> None:
    done = trtmc("chat", str(bundle()), "--messages", "-", "--temperature", "0", stdin=json.dumps(messages(2)))
    assert done.exit_code == 0, done.stderr
    assert done.stdout.rstrip("\n") == turns()[1].answer_text
    assert "tok/s" in done.stderr
