"""The manifest reader is strict: right files load, each kind of mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtmc.core.errors import BadInput
from trtmc.e2e.manifest import CheckpointKind, load_manifest

GOOD = """
name = "toy"
family = "llama"
task = "text_generation_causal"
targets = ["cpu_x86_64"]
golden = "goldens/toy.json"
max_sequence = 64

[checkpoint]
kind = "tiny"
seed = 3

[checkpoint.config]
model_type = "llama"
vocab_size = 7

[[precision]]
name = "fp32"
equal_ids = true
min_cosine = 0.99999
min_top1_agreement = 1
min_margin = 0.0

[[case]]
name = "a"
random_ids = 4

[[case]]
name = "b"
turns = ["Hi", "And?"]
new_tokens = 8
"""


def load(tmp_path: Path, text: str) -> object:
    path = tmp_path / "toy.toml"
    path.write_text(text, encoding="utf-8")
    return load_manifest(path)


def test_a_good_manifest(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(GOOD, encoding="utf-8")
    manifest = load_manifest(path)
    assert manifest.golden == tmp_path / "goldens" / "toy.json"
    assert manifest.checkpoint.kind is CheckpointKind.TINY
    assert manifest.checkpoint.config["vocab_size"] == 7
    assert manifest.precision("fp32").min_top1_agreement == 1.0
    assert [case.new_tokens for case in manifest.cases] == [64, 8]
    assert manifest.cases[1].turns == ("Hi", "And?")


@pytest.mark.parametrize(
    ("old", "new", "code", "word"),
    [
        ("min_cosine", "min_cosin", "e2e.missing_key", "min_cosine"),
        ("seed = 3", "seed = 3\nsede = 4", "e2e.unknown_key", "sede"),
        ("max_sequence = 64", "", "e2e.missing_key", "max_sequence"),
        ("max_sequence = 64", 'max_sequence = "64"', "e2e.wrong_type", "max_sequence"),
        ("0.99999", "99.999", "e2e.out_of_range", "min_cosine"),
        ("equal_ids = true", "equal_ids = 1", "e2e.wrong_type", "equal_ids"),
        ('kind = "tiny"', 'kind = "magic"', "e2e.unknown_kind", "magic"),
        ("random_ids = 4", 'random_ids = 4\ntext = "x"', "e2e.ambiguous_case", "'a'"),
        ("random_ids = 4", "", "e2e.ambiguous_case", "'a'"),
        ('name = "b"', 'name = "a"', "e2e.duplicate_case", "a"),
        ('name = "toy"', "name = ", "e2e.bad_toml", "toy.toml"),
    ],
)
def test_each_mistake_is_named(tmp_path: Path, old: str, new: str, code: str, word: str) -> None:
    assert old in GOOD
    with pytest.raises(BadInput) as caught:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert caught.value.code == code
    assert word in caught.value.message


def test_an_unknown_precision_lists_those_there_are(tmp_path: Path) -> None:
    path = tmp_path / "toy.toml"
    path.write_text(GOOD, encoding="utf-8")
    with pytest.raises(BadInput, match="fp32"):
        load_manifest(path).precision("int4")
