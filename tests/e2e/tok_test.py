"""Tokenizers through the whole product: the ids and texts of `tokenizers`, the very file that the checkpoint ships."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import AddedToken, Tokenizer

from tests.e2e.kit.models import chain, walk_table
from tests.e2e.kit.product import build, built, trtmc
from tests.e2e.kit.texts import (
    CHATML,
    HOSTILE,
    LLAMA3_SPLIT,
    add_text,
    byte_level,
    chatml,
    echo_bundle,
    letters,
    llama2_style,
    product_ids,
    product_text,
)

MERGES = [("Ġ", "r"), ("e", "t"), ("u", "r"), ("Ġ", "Ġ"), ("ĠĠ", "Ġ")]
WORDS = ["Ġr", "et", "ur", "ĠĠ", "ĠĠĠ"]


@pytest.mark.parametrize("text", ["is  \u3000<mask>.", "is\u200b<mask>", "a<mask> b", " <mask><mask>"])
def test_tok_1_lstrip_eats_all_white_space_before(tmp_path: Path, text: str) -> None:
    tokenizer = byte_level(specials=[AddedToken("<mask>", lstrip=True, special=True)])
    expected = tokenizer.encode(text).ids
    assert product_ids(echo_bundle(tmp_path / "m", tokenizer), text) == expected
    mask = tokenizer.token_to_id("<mask>")
    if text.startswith("is "):
        assert [tokenizer.id_to_token(i) for i in expected] == ["i", "s", "<mask>", "."]
    if "\u200b" in text:
        assert expected.index(mask) == 5


def test_tok_2_runs_of_spaces_before_a_word(tmp_path: Path) -> None:
    tokenizer = byte_level(WORDS, MERGES, split=LLAMA3_SPLIT)
    bundle = echo_bundle(tmp_path / "m", tokenizer)
    texts = ["    return", "a \n\n  b", "\t   x", "trailing   ", *(f"{' ' * n}return" for n in (1, 2, 3, 9, 17))]
    for text in texts:
        assert product_ids(bundle, text) == tokenizer.encode(text).ids, repr(text)
    assert [tokenizer.id_to_token(i) for i in tokenizer.encode("    return").ids][:2] == ["ĠĠĠ", "Ġr"]


@pytest.mark.parametrize("ignore_merges", [True, False])
def test_tok_3_ignore_merges(tmp_path: Path, ignore_merges: bool) -> None:
    tokenizer = byte_level(["ĠViet"], split=LLAMA3_SPLIT, ignore_merges=ignore_merges)
    text = tokenizer.to_str()
    if not ignore_merges:
        parsed = json.loads(text)
        del parsed["model"]["ignore_merges"]
        text = json.dumps(parsed)
    found = product_ids(echo_bundle(tmp_path / "m", text), " Viet")
    expected = ["ĠViet"] if ignore_merges else ["Ġ", "V", "i", "e", "t"]
    assert [tokenizer.id_to_token(i) for i in found] == expected


@pytest.mark.parametrize("text", ["hi", "  hi", "<0x41>", "é", "😀", " "])
def test_tok_4_byte_fallback_prepend_and_strip(tmp_path: Path, text: str) -> None:
    tokenizer = llama2_style()
    bundle = echo_bundle(tmp_path / "m", tokenizer)
    ids = product_ids(bundle, text)
    assert ids == tokenizer.encode(text).ids
    if text == "<0x41>":
        assert len(ids) >= 6
    if text == "é":
        assert [tokenizer.id_to_token(i) for i in ids] == ["▁", "<0xC3>", "<0xA9>"]
    assert tokenizer.decode(ids) == text


def test_tok_4_specials_in_the_text_back(tmp_path: Path) -> None:
    tokenizer = llama2_style()
    ids = tokenizer.encode("hi</s>hi").ids
    assert (tokenizer.decode(ids), tokenizer.decode(ids, skip_special_tokens=False)) == ("hi hi", "hi</s> hi")
    vocab = tokenizer.get_vocab_size() + tokenizer.get_vocab_size() % 2
    first, end, second = (tokenizer.token_to_id(token) for token in ("▁hi", "</s>", "▁"))
    chain(tmp_path / "m", walk_table([0, first, end, second], vocab))
    add_text(tmp_path / "m", tokenizer)
    bundle = built(tmp_path / "m")
    arguments = ["-n", "3", "--ignore-eos"]
    made = [first, end, second]
    assert product_text(bundle, [0], *arguments) == tokenizer.decode(made)
    assert product_text(bundle, [0], *arguments, "--show-special") == tokenizer.decode(made, skip_special_tokens=False)


def test_tok_5_merges_as_pairs_or_strings(tmp_path: Path) -> None:
    pairs = json.loads(byte_level(WORDS, MERGES, split=LLAMA3_SPLIT).to_str())
    pairs["model"]["merges"] = [list(merge) for merge in MERGES]
    strings = json.loads(json.dumps(pairs))
    strings["model"]["merges"] = [" ".join(merge) for merge in MERGES]
    text = "    return return\n  ret"
    expected = Tokenizer.from_str(json.dumps(pairs)).encode(text).ids
    for name, form in (("pairs", pairs), ("strings", strings)):
        assert product_ids(echo_bundle(tmp_path / name, json.dumps(form)), text) == expected


def test_tok_5_a_merge_part_with_a_space_works_or_is_refused_by_name(tmp_path: Path) -> None:
    form = json.loads(letters(["a", "b", " ", "a ", "a b"]).to_str())
    form["model"]["merges"] = [["a", " "], ["a ", "b"]]
    expected = Tokenizer.from_str(json.dumps(form)).encode("a ba b").ids
    assert product_ids(echo_bundle(tmp_path / "m", json.dumps(form)), "a ba b") == expected


def chat_tokens(bundle: Path, content: str) -> int:
    message = json.dumps([{"role": "user", "content": content}])
    done = trtmc("chat", str(bundle), "--messages", "-", "--json", "-n", "1", stdin=message)
    assert done.exit_code == 0, done.stderr
    return int(done.json["prompt_tokens"])


def test_tok_6_special_tokens_typed_by_a_user_stay_plain_in_chat(tmp_path: Path) -> None:
    tokenizer = chatml()
    bundle = echo_bundle(tmp_path / "m", tokenizer, CHATML)
    around = len(tokenizer.encode("<|im_start|>user\n").ids) + len(
        tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n").ids
    )
    assert chat_tokens(bundle, HOSTILE) == around + len(byte_level().encode(HOSTILE).ids)
    assert chat_tokens(bundle, "Hello there.") == around + len(tokenizer.encode("Hello there.").ids)


def test_tok_6_a_raw_prompt_parses_them_unless_told_otherwise(tmp_path: Path) -> None:
    tokenizer = chatml()
    bundle = echo_bundle(tmp_path / "m", tokenizer, CHATML)
    assert product_ids(bundle, HOSTILE) == tokenizer.encode(HOSTILE).ids
    assert product_ids(bundle, HOSTILE, "--plain") == byte_level().encode(HOSTILE).ids
    assert product_ids(bundle, "Hello there.", "--plain") == product_ids(bundle, "Hello there.")


@pytest.mark.parametrize("pieces", [["a", "Ġ", ",", "b"], ["x", "Ġ", "."], ["'", ":", "Ġ", '"']])
def test_tok_7_clean_up_never_touches_bpe_text(tmp_path: Path, pieces: list[str]) -> None:
    alphabet = ["!", *pieces]
    vocab = len(alphabet) + len(alphabet) % 2
    chain(tmp_path / "m", walk_table(list(range(len(alphabet))), vocab), eos_token_id=None)
    add_text(tmp_path / "m", letters(alphabet), clean_up_tokenization_spaces=True)
    bundle = built(tmp_path / "m")
    expected = "".join(pieces).replace("Ġ", " ")
    assert product_text(bundle, [0], "-n", str(len(pieces))) == expected
    streamed = trtmc("run", str(bundle), "--ids", "0", "-n", str(len(pieces)))
    assert streamed.stdout.rstrip("\n") == expected


def test_bad_input_tokenizer_and_model_do_not_belong_together(tmp_path: Path) -> None:
    chain(tmp_path / "m", walk_table([0, 1], 16))
    add_text(tmp_path / "m", byte_level())
    done = build(tmp_path / "m", tmp_path / "x.bundle")
    assert done.exit_code == 3
    assert done.says("tokenizer.json", "15")
    assert not (tmp_path / "x.bundle").exists()
