"""Numbers that do not fit: an overflowing narrowing is refused with the tensor's name; norms survive large values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.e2e.kit.models import tiny
from tests.e2e.kit.numpy_decoder import NumpyDecoder
from tests.e2e.kit.product import answer, build, built, refused
from trtmc.e2e.comparators import compare_logits
from trtmc.e2e.tiny import Weights

DOWN = "model.layers.1.mlp.down_proj.weight"


@pytest.mark.parametrize(("value", "stored"), [(70000.0, "70144"), (65519.0, "65536")])
def test_num_1_bf16_weights_that_do_not_fit_fp16(tmp_path: Path, value: float, stored: str) -> None:
    def put(weights: Weights) -> None:
        weights[DOWN][3, 5] = value

    tiny(tmp_path / "m", "llama", stored="bfloat16", change=put)
    outcome = refused(tmp_path / "m", DOWN, stored, "[3, 5]", arguments=["--precision", "fp16"])
    assert "bf16" in outcome.stderr.lower()
    assert "fp32" in outcome.stderr.lower()
    assert build(tmp_path / "m", tmp_path / "ok.bundle", "--precision", "bf16").exit_code == 0


def test_num_1_the_largest_value_that_fits_is_built(tmp_path: Path) -> None:
    def put(weights: Weights) -> None:
        weights[DOWN][3, 5] = 65504.0

    tiny(tmp_path / "m", "llama", change=put)
    assert build(tmp_path / "m", tmp_path / "ok.bundle", "--precision", "fp16").exit_code == 0


@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp32"])
def test_num_2_rms_norm_of_large_activations(tmp_path: Path, precision: str) -> None:
    def louder(weights: Weights) -> None:
        weights["model.embed_tokens.weight"] *= np.float32(1074.0 / np.abs(weights["model.embed_tokens.weight"]).max())

    config, weights = tiny(tmp_path / "m", "llama", change=louder)
    ids = [int(i) for i in np.random.default_rng(2).integers(0, 97, 20)]
    logits = answer(built(tmp_path / "m", "--precision", precision)).logits(ids)
    assert np.isfinite(logits).all()
    wrong = [m.sentence() for m in compare_logits("x", NumpyDecoder(config, weights).logits(ids), logits, 0.999)]
    assert not [sentence for sentence in wrong if sentence.startswith("FAILED")]


@pytest.mark.parametrize(("value", "word"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_bad_input_weights_that_are_not_finite(tmp_path: Path, value: float, word: str, precision: str) -> None:
    def put(weights: Weights) -> None:
        weights[DOWN][1, 2] = value

    tiny(tmp_path / "m", "llama", change=put)
    outcome = refused(tmp_path / "m", DOWN, arguments=["--precision", precision], exit_codes=[3])
    assert word in outcome.stderr.lower()
