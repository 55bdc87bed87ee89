"""Ids and texts of tens of thousands of seeded strings against the Python library `tokenizers`, live. 0 may differ.

The tokenizer is named by FUZZ_TOKENIZER; the library must be the release that the crate was built from.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from tests.text import strings
from tests.text.tool import TextTool, golden

TOKENIZER = Path(os.environ["FUZZ_TOKENIZER"])
NAME = os.environ["FUZZ_NAME"]
COUNT = 20_500
SEED = 20261129
# Longer ones are decoded whole but not streamed, since a stream answers with one piece per id.
STREAMED_IDS = 400


@pytest.fixture(scope="module")
def oracle() -> tokenizers.Tokenizer:
    """The Python library, padding and truncation off as in ours."""
    assert tokenizers.__version__ == "0.23.3"
    made = tokenizers.Tokenizer.from_file(str(TOKENIZER))
    made.no_padding()
    made.no_truncation()
    return made


@pytest.fixture(scope="module")
def tool() -> Iterator[TextTool]:
    with TextTool() as running:
        running.must({"op": "open", "tokenizer": str(TOKENIZER)})
        yield running


@pytest.fixture(scope="module")
def texts(oracle: tokenizers.Tokenizer) -> list[str]:
    added = [token.content for _, token in sorted(oracle.get_added_tokens_decoder().items())]
    return strings.texts(added, COUNT, SEED)


def differing(tool: TextTool, requests: Sequence[dict[str, Any]], wanted: Sequence[Any], key: str) -> list[str]:
    """Descriptions of the answers that are not as wanted."""
    out = []
    for request, want, answer in zip(requests, wanted, tool.ask_all(requests), strict=True):
        if answer.get(key) != want:
            out.append(f"{ascii(request)[:200]}\n  want {ascii(want)[:200]}\n  got  {ascii(answer)[:200]}")
    return out


def report(wrong: list[str], total: int) -> str:
    return f"{len(wrong)} of {total} differ, the shortest:\n" + "\n".join(sorted(wrong, key=len)[:5])


@pytest.mark.parametrize("add_special", [True, False])
def test_ids(tool: TextTool, oracle: tokenizers.Tokenizer, texts: list[str], add_special: bool) -> None:
    wanted = [encoding.ids for encoding in oracle.encode_batch(texts, add_special_tokens=add_special)]
    requests = [{"op": "encode", "text": text, "add_special": add_special} for text in texts]
    wrong = differing(tool, requests, wanted, "ids")
    assert not wrong, report(wrong, len(texts))
    assert len(texts) >= 20_000


@pytest.mark.parametrize("skip_special", [True, False])
def test_text_back(tool: TextTool, oracle: tokenizers.Tokenizer, texts: list[str], skip_special: bool) -> None:
    ids = [encoding.ids for encoding in oracle.encode_batch(texts)]
    wanted = oracle.decode_batch(ids, skip_special_tokens=skip_special)
    requests = [{"op": "decode", "ids": row, "skip_special": skip_special} for row in ids]
    wrong = differing(tool, requests, wanted, "text")
    assert not wrong, report(wrong, len(texts))


def test_streams_join_to_the_whole(tool: TextTool, oracle: tokenizers.Tokenizer, texts: list[str]) -> None:
    ids = [encoding.ids for encoding in oracle.encode_batch(texts) if len(encoding.ids) <= STREAMED_IDS]
    wanted = oracle.decode_batch(ids, skip_special_tokens=True)
    wrong = []
    for row, want, answer in zip(ids, wanted, tool.ask_all([{"op": "stream", "ids": row} for row in ids]), strict=True):
        pieces = answer.get("pieces", [])
        too_early = any("\ufffd" in piece for piece in pieces[:-1]) and "\ufffd" not in want
        if "".join(pieces) != want or too_early:
            wrong.append(f"{ascii(row)[:200]}\n  want {ascii(want)[:200]}\n  got  {ascii(answer)[:200]}")
    assert not wrong, report(wrong, len(ids))


def test_special_tokens_as_text(tool: TextTool, oracle: tokenizers.Tokenizer, texts: list[str]) -> None:
    """With parse_special off, ids are those of a tokenizer whose special tokens were taken out."""
    plain = tokenizers.Tokenizer.from_str(oracle.to_str())
    plain.encode_special_tokens = True
    some = texts[:6000]
    wanted = [encoding.ids for encoding in plain.encode_batch(some, add_special_tokens=False)]
    requests = [{"op": "encode", "text": text, "add_special": False, "parse_special": False} for text in some]
    wrong = differing(tool, requests, wanted, "ids")
    assert not wrong, report(wrong, len(some))


def test_every_seventh_code_point(tool: TextTool, oracle: tokenizers.Tokenizer) -> None:
    """In places where a letter, a digit, a space and a symbol are split differently."""
    points = [
        c
        for c in range(1, 0x110000, 7)
        if not 0xD800 <= c <= 0xDFFF and (c < 0x33500 or 0xE0000 <= c < 0xE0400 or c % 64 == 0)
    ]
    # Newer than the tables of an older Oniguruma, which would give other ids.
    points += [0x0C5C, 0xA7CE, 0x10D40, 0x1CCF0, 0x11DE0, 0x16ED0, 0x1FAE9]
    made = [f"x{c}'ll y{c}1234 {c}'s\n{c}{c}12\u0301 z" for c in map(chr, points)]
    wanted = [encoding.ids for encoding in oracle.encode_batch(made, add_special_tokens=False)]
    wrong = differing(tool, [{"op": "encode", "text": text, "add_special": False} for text in made], wanted, "ids")
    assert not wrong, report(wrong, len(made))


def test_committed_strings(tool: TextTool) -> None:
    """The same without the Python library: goldens that were made once."""
    rows = golden(f"strings_{NAME}.json")["rows"]
    wanted_ids = [ids for _, ids, _, _, _ in rows] + [ids[front:] for _, ids, front, _, _ in rows]
    requests = [
        {"op": "encode", "text": text, "add_special": special} for special in (True, False) for text, *_ in rows
    ]
    wrong = differing(tool, requests, wanted_ids, "ids")
    wanted_text = [text if back is None else back for text, _, _, *both in rows for back in both]
    requests = [
        {"op": "decode", "ids": ids[front:], "skip_special": skip}
        for _, ids, front, _, _ in rows
        for skip in (True, False)
    ]
    wrong += differing(tool, requests, wanted_text, "text")
    assert not wrong, report(wrong, len(rows))
    assert len(rows) == 600


def test_a_wrong_answer_is_noticed(tool: TextTool) -> None:
    assert differing(tool, [{"op": "encode", "text": "a"}], [[-1]], "ids")
    assert differing(tool, [{"op": "encode", "text": "a", "nonsense": 1}, {"op": "x"}], [[], []], "ids")
