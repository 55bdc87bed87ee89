"""Damaged tokenizer and generation files: read, or refused with the file's name, and never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import BadInput, Unsupported
from trtmc.core.text_assets import DefaultTokens, read_text_artifacts
from trtmc.testing import tiny_llama
from trtmc.testing.mutations import mutations

FILES: dict[str, dict[str, Any]] = {
    "generation_config.json": {
        "bos_token_id": 1,
        "eos_token_id": [2, 3],
        "pad_token_id": 0,
        "do_sample": True,
        "temperature": 0.7,
        "top_k": 50,
        "top_p": 0.9,
        "num_beams": 1,
        "transformers_version": "5.24.0",
    },
    "tokenizer.json": {
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}},
        "added_tokens": [{"id": 2, "content": "<s>"}],
        "normalizer": None,
    },
    "tokenizer_config.json": {"chat_template": "{{ messages }}", "bos_token": "<s>"},
}


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(tmp_path: Path, name: str) -> None:
    folder = tiny_llama().write(tmp_path)
    read = refused = 0
    for values in mutations(FILES[name], 1000, seed=7):
        (folder / name).write_text(json.dumps(values))
        try:
            text = read_text_artifacts(Checkpoint(folder), vocab_size=97, max_sequence=64, defaults=DefaultTokens())
        except (BadInput, Unsupported) as error:
            assert str(folder) in error.message
            refused += 1
            continue
        assert all(0 <= token < 97 for token in text.eos_token_ids)
        read += 1
    assert read > 50
    assert refused > 50
