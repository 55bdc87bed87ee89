"""External weights and bundles for several targets, through the builder and the C++ runtime on this machine's CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.kit.models import tiny
from tests.e2e.kit.numpy_decoder import NumpyDecoder
from tests.e2e.kit.product import answer, build, built, inspect, trtmc
from trtmc.cli.main import run as run_build
from trtmc.core.target import named_target
from trtmc.e2e.comparators import compare_logits

LARGE: dict[str, Any] = {"hidden_size": 256, "intermediate_size": 512, "vocab_size": 400}
IDS = [1, 5, 9, 77, 3, 250]
OUTSIDE = ("--weights", "external")
NO_EOS = ("--ignore-eos", "--temperature", "0", "-n", "8", "--json")


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("tied", [True, False])
def test_the_same_logits_bit_for_bit(tmp_path: Path, precision: str, tied: bool) -> None:
    """With fp32 and fp16 the runtime casts the bfloat16 checkpoint; the builder did so for the embedded form."""
    tiny(tmp_path / "m", "qwen2", stored="bfloat16", tie_word_embeddings=tied, **LARGE)
    embedded = built(tmp_path / "m", "--precision", precision)
    external = built(tmp_path / "m", "--precision", precision, *OUTSIDE)
    one, other = answer(embedded), answer(external)
    assert np.array_equal(one.logits(IDS), other.logits(IDS))
    assert np.array_equal(one.logits(IDS, chunk=2), other.logits(IDS, chunk=2))
    bindings = inspect(external)["components"][0]["engines"][0]["weights"]
    casts = {"cast" in binding["steps"] for binding in bindings}
    assert casts == {precision != "bf16"}
    assert any("reshape" in binding["steps"] for binding in bindings)  # [out, in] is bound as [1, out, in]


def test_they_are_the_oracles(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "llama", **LARGE)
    logits = answer(built(tmp_path / "m", *OUTSIDE)).logits(IDS)
    expected = NumpyDecoder(config, weights).logits(IDS)
    assert not [m.sentence() for m in compare_logits("logits", expected, logits, 0.99999) if not m.passed]


def test_damaged_weights_are_found_before_they_are_used(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", **LARGE)
    bundle = built(tmp_path / "m", *OUTSIDE)
    section = next(s for s in inspect(bundle)["sections"] if s["name"] == "weights/checkpoint")
    data = bytearray(bundle.read_bytes())
    data[section["offset"] + section["length"] // 2] ^= 1
    damaged = tmp_path / "damaged.bundle"
    damaged.write_bytes(data)
    outcome = trtmc("run", str(damaged), "--ids", "1,2", *NO_EOS, environment={"XDG_CACHE_HOME": str(tmp_path)})
    assert (outcome.exit_code, outcome.error_code) == (3, "bundle.section_sha256")
    assert outcome.says("damaged.bundle", "weights/checkpoint")


def fat(folder: Path, output: Path, targets: tuple[str, ...]) -> Path:
    """Engines for these targets over one copy of the weights."""
    words = ["pack", "--family", "llama", "--checkpoint", str(folder), "-o", str(output), "-q"]
    for name in targets:
        place = output.parent / name
        place.mkdir()
        info = place / "target.json"
        info.write_text(json.dumps(named_target(name).to_json()))
        common = ["--family", "llama", "--checkpoint", str(folder), "--target-info", str(info), "-q", *OUTSIDE]
        parts = ["--out-engine", str(place / "llm.engine"), "--out-contract", str(place / "llm.json")]
        assert run_build(["engine", *common, *parts]) == 0
        words += ["--target-info", str(info)]
        words += ["--engine", f"{name}/llm={place}/llm.engine", "--contract", f"{name}/llm={place}/llm.json"]
    assert run_build(words) == 0
    return output


def test_a_fat_bundle_runs_here(tmp_path: Path) -> None:
    config, weights = tiny(tmp_path / "m", "llama", stored="bfloat16", **LARGE)
    bundle = fat(tmp_path / "m", tmp_path / "fat.bundle", ("sm_75", "sm_89", "cpu_x86_64"))
    assert [t["name"] for t in inspect(bundle)["targets"]] == ["cpu_x86_64", "sm_75", "sm_89"]
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    outcome = trtmc("run", str(bundle), "--ids", "1,5,9", *NO_EOS, environment=environment)
    assert outcome.exit_code == 0, outcome.stderr
    assert outcome.json["bundle"]["target"] == "cpu_x86_64"
    alone = trtmc("run", str(built(tmp_path / "m")), "--ids", "1,5,9", *NO_EOS)
    assert outcome.json["ids"] == alone.json["ids"]
    ids = [1, 5, 9]
    while len(ids) < 11:
        ids.append(int(NumpyDecoder(config, weights).logits(ids)[-1].argmax()))
    assert outcome.json["ids"] == ids[3:]


def test_where_no_engine_fits(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", **LARGE)
    bundle = fat(tmp_path / "m", tmp_path / "gpus.bundle", ("sm_120", "sm_75"))
    outcome = trtmc("run", str(bundle), "--ids", "1", *NO_EOS)
    if Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has an NVIDIA driver")
    assert (outcome.exit_code, outcome.error_code) == (5, "load.no_target")
    assert outcome.says("holds engines for sm_120, sm_75", "compute capability 12.0", "compute capability 7.5")
    named = trtmc("run", str(bundle), "--target", "sm_75", "--ids", "1", *NO_EOS)
    assert (named.exit_code, named.error_code) == (5, "load.wrong_target")
    unknown = trtmc("run", str(bundle), "--target", "cpu_x86_64", "--ids", "1", *NO_EOS)
    assert (unknown.exit_code, unknown.error_code) == (2, "load.unknown_target")
    assert unknown.says("it has them for sm_120, sm_75")


def test_a_bad_value_is_refused(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama", **LARGE)
    outcome = build(tmp_path / "m", tmp_path / "x.bundle", "--weights", "elsewhere")
    assert outcome.exit_code == 2
    assert outcome.says("embedded", "external")
