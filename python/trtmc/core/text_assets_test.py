"""Token ids, sampling defaults, tokenizer and template, as Transformers reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.core.text_assets import DefaultTokens, TextArtifacts, read_text_artifacts
from trtmc.testing import tiny_llama

TOKENIZER: dict[str, Any] = {"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}}, "added_tokens": []}


def read(tmp_path: Path, files: dict[str, Any] | None = None, **config: Any) -> TextArtifacts:
    folder = tmp_path / "model"
    if not folder.exists():
        tiny_llama(**config).write(folder)
    for name, content in (files or {}).items():
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / name).write_text(text, "utf-8")
    defaults = DefaultTokens(bos=1, eos=2)
    return read_text_artifacts(Checkpoint(folder), vocab_size=97, max_sequence=64, defaults=defaults)


def test_generation_config_decides_alone(tmp_path: Path) -> None:
    text = read(tmp_path, {"generation_config.json": {"eos_token_id": [9, 7, 9]}}, eos_token_id=5, bos_token_id=3)
    assert (text.bos_token_id, text.eos_token_ids, text.pad_token_id) == (None, (9, 7), None)


def test_generation_config_without_end_tokens(tmp_path: Path) -> None:
    assert read(tmp_path, {"generation_config.json": {}}, eos_token_id=5).eos_token_ids == ()


def test_config_where_there_is_no_generation_config(tmp_path: Path) -> None:
    text = read(tmp_path, eos_token_id=5, bos_token_id=3, pad_token_id=-1)
    assert (text.bos_token_id, text.eos_token_ids, text.pad_token_id) == (3, (5,), None)


def test_list_in_config(tmp_path: Path) -> None:
    assert read(tmp_path, eos_token_id=[5, 8]).eos_token_ids == (5, 8)


def test_defaults_of_the_model_type_only_for_absent_keys(tmp_path: Path) -> None:
    absent = read(tmp_path / "absent")
    null = read(tmp_path / "null", bos_token_id=None, eos_token_id=None)
    assert (absent.bos_token_id, absent.eos_token_ids) == (1, (2,))
    assert (null.bos_token_id, null.eos_token_ids) == (None, ())


@pytest.mark.parametrize("value", ["5", -1, 1.5, [1, None], [[1]], True])
def test_malformed_end_token(tmp_path: Path, value: object) -> None:
    with pytest.raises(BadInput, match="'eos_token_id' must be a token id or a list"):
        read(tmp_path, eos_token_id=value)


def test_special_id_outside_of_the_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'eos_token_id' is 97, but the model's vocabulary ends at 96") as caught:
        read(tmp_path, eos_token_id=[5, 97])
    assert caught.value.code == "tokenizer.special_id"


def test_sampling_defaults(tmp_path: Path) -> None:
    values = {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.0, "repetition_penalty": 1.1}
    ignored = {"max_length": 4096, "transformers_version": "5", "num_beams": 1, "typical_p": None}
    sampling = read(tmp_path, {"generation_config.json": {**values, **ignored}}).sampling
    assert {key: getattr(sampling, key) for key in values} == values


@pytest.mark.parametrize(
    ("settings", "error", "piece"),
    [
        ({"num_beams": 4}, Unsupported, "'num_beams' is 4; only 1 is implemented"),
        ({"no_repeat_ngram_size": 3}, Unsupported, "'no_repeat_ngram_size' is 3"),
        ({"suppress_tokens": [1]}, Unsupported, "'suppress_tokens'"),
        ({"penalty_alpha": 0.6}, Unsupported, "unknown key 'penalty_alpha' (0.6)"),
        ({"temperature": -1.0}, BadInput, "'temperature' must be greater than"),
        ({"top_p": 1.5}, BadInput, "'top_p' must not be greater than 1"),
        ({"top_k": -1}, BadInput, "'top_k' must be between 0"),
    ],
)
def test_settings_that_would_change_the_output(
    tmp_path: Path, settings: dict[str, Any], error: type[TrtmcError], piece: str
) -> None:
    with pytest.raises(error) as caught:
        read(tmp_path, {"generation_config.json": settings})
    assert piece in caught.value.message and "generation_config.json" in caught.value.message


def test_tokenizer_with_ids_beyond_the_model(tmp_path: Path) -> None:
    broken = {**TOKENIZER, "added_tokens": [{"id": 97, "content": "<extra>"}]}
    with pytest.raises(BadInput) as caught:
        read(tmp_path, {"tokenizer.json": broken})
    assert caught.value.code == "tokenizer.vocabulary"
    for piece in ("'<extra>'", "97", "ends at 96", "tokenizer.json", "vocab_size"):
        assert piece in caught.value.message


def test_tokenizer_smaller_than_the_model_is_fine(tmp_path: Path) -> None:
    unigram = {"model": {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.0]]}}
    assert read(tmp_path, {"tokenizer.json": TOKENIZER}).tokenizer is not None
    assert read(tmp_path, {"tokenizer.json": unigram}).tokenizer is not None


def test_large_unigram_is_counted_by_position(tmp_path: Path) -> None:
    unigram = {"model": {"type": "Unigram", "vocab": [[f"t{i}", 0.0] for i in range(98)]}}
    with pytest.raises(BadInput, match="token 't97' has id 97"):
        read(tmp_path, {"tokenizer.json": unigram})


@pytest.mark.parametrize("content", [{}, {"model": {}}, {"model": {"vocab": {"a": "0"}}}, {"model": {"vocab": {}}}])
def test_malformed_tokenizer(tmp_path: Path, content: dict[str, Any]) -> None:
    with pytest.raises(BadInput) as caught:
        read(tmp_path, {"tokenizer.json": content})
    assert caught.value.code == "tokenizer.json"


def test_other_tokenizer_formats_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match=r"tokenizer\.model: only tokenizer\.json is read"):
        read(tmp_path, {"tokenizer.model": "x"})


def test_chat_template_of_the_file_wins(tmp_path: Path) -> None:
    settings = {"chat_template": "from settings"}
    assert read(tmp_path / "a", {"tokenizer_config.json": settings}).chat_template == b"from settings"
    both = {"tokenizer_config.json": settings, "chat_template.jinja": "from file ☃\n"}
    assert read(tmp_path / "b", both).chat_template == "from file ☃\n".encode()
    named = [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]
    assert read(tmp_path / "c", {"tokenizer_config.json": {"chat_template": named}}).chat_template is None
    assert read(tmp_path / "d").chat_template is None
    for index, broken in enumerate((3, ["x"], [{"name": "default"}])):
        with pytest.raises(BadInput, match="'chat_template' must be a string"):
            read(tmp_path / f"e{index}", {"tokenizer_config.json": {"chat_template": broken}})


def test_special_tokens_of_their_own_file_count_in_older_checkpoints(tmp_path: Path) -> None:
    tokens = {"bos_token": "<s>", "eos_token": {"content": "☃"}, "additional_special_tokens": ["<x>"]}
    older = {"eos_token": "</s>", "model_max_length": 5}
    found = read(tmp_path / "a", {"tokenizer_config.json": older, "special_tokens_map.json": tokens}).tokenizer_config
    assert isinstance(found, bytes)
    assert json.loads(found) == {"model_max_length": 5, "bos_token": "<s>", "eos_token": {"content": "☃"}}
    alone = read(tmp_path / "b", {"special_tokens_map.json": tokens}).tokenizer_config
    assert isinstance(alone, bytes)
    newer = {"bos_token": "<b>", "added_tokens_decoder": {}}
    for index, config in enumerate((newer, {"bos_token": "<s>", "eos_token": {"content": "☃"}})):
        files = {"tokenizer_config.json": config, "special_tokens_map.json": tokens}
        assert isinstance(read(tmp_path / f"c{index}", files).tokenizer_config, Path)
