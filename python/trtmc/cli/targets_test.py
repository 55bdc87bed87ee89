"""Bundles for GPUs from the command line: what comes out, and what is refused before any work."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trtmc.cli import main as entry
from trtmc.testing import tiny_llama

Run = Callable[..., tuple[int, dict[str, Any], str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: object) -> tuple[int, dict[str, Any], str]:
        code = entry.run([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        return code, json.loads(captured.out), captured.err

    return invoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_llama(hidden_size=64, dtype="bfloat16", max_position_embeddings=10**6).write(tmp_path / "model", "BF16")


def test_a_bundle_for_a_gpu(run: Run, model: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "x.bundle"
    code, value, log = run(model, "-o", bundle, "--target", "sm_89", "--max-sequence", 64)
    assert code == 0, log
    assert "as bfloat16 (the checkpoint's own)" in log
    assert "heap: system. The same inputs may give engines that differ in a few bytes" in log, (
        "this process is a test's"
    )
    facts = value["report"]["components"]["llm"]
    assert (facts["precision"], facts["options"]["profiles"]) == ("bf16", "shared")
    code, shown, _ = run("inspect", bundle)
    header = shown["header"]
    assert [(t["name"], t["compiler"]) for t in header["targets"]] == [("sm_89", "tensorrt_rtx")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "x.bundle"]


def test_the_build_report_is_in_the_bundle(run: Run, model: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "x.bundle"
    _, built, _ = run(model, "-o", bundle, "--target", "sm_89", "--max-sequence", 64)
    code, shown, _ = run("inspect", bundle, "--engine")
    assert code == 0
    stored = shown["reports"]["llm"]
    whole = built["report"]["components"]["llm"]
    measured = {"phases", "peak_rss_bytes"}
    assert stored == {key: value for key, value in whole.items() if key not in measured}, "facts yes, measurements no"
    assert stored["network_layers"]["KV_CACHE_UPDATE"] == 4
    assert stored["cache_bytes"] == 2 * 2 * 2 * 64 * 16 * 2, "layers, k and v, heads, positions, head size, bytes"
    assert stored["engine_bytes"] > stored["constant_bytes"] > 0
    assert [phase["name"] for phase in whole["phases"]][-2:] == ["configure", "compile"]


def test_auto_is_float16_where_the_target_lacks_bfloat16(run: Run, model: Path, tmp_path: Path) -> None:
    code, value, log = run(model, "-o", tmp_path / "x.bundle", "--target", "sm_75", "--max-sequence", 64)
    assert code == 0, log
    facts = value["report"]["components"]["llm"]
    assert facts["precision"] == "fp16"
    assert facts["precision_reason"] == "sm_75 lacks the checkpoint's own, bf16"
    assert "as float16 (sm_75 lacks the checkpoint's own, bf16)" in log


def test_weights_that_do_not_fit_float16_are_an_error(run: Run, tmp_path: Path) -> None:
    model = tiny_llama(hidden_size=64, dtype="bfloat16")
    model.tensors["lm_head.weight"][3, 5] = 1e9
    folder = model.write(tmp_path / "model", "BF16")
    code, value, _ = run(folder, "-o", tmp_path / "x.bundle", "--target", "sm_75")
    assert (code, value["error"]["code"]) == (3, "weights.overflow")
    assert "'lm_head.weight'" in value["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "code", "slug", "words"),
    [
        (("--target", "sm_42"), 2, "target.unknown", "there is no target 'sm_42'; known are cpu_x86_64"),
        (("--target", "sm_89", "--option", "build_route=-a=b"), 4, "compiler.build_route", "offers no build routes"),
        (("--target", "sm_89", "--option", "workspace_mib=7"), 2, "compiler.option", "nothing with less than 8"),
        (("--target", "sm_75", "--precision", "bf16"), 4, "target.precision", "sm_75 cannot hold bf16"),
        (
            ("--target", "sm_75", "--precision", "fp8"),
            4,
            "target.precision",
            "sm_75 cannot hold fp8: it holds fp16, int8",
        ),
        (("--target", "sm_89", "--precision", "fp8"), 4, "precision.not_built", "no family builds fp8 networks yet"),
        (("--target", "sm_75", "--precision", "fp32"), 4, "target.precision", "sm_75 cannot hold fp32"),
        (
            ("--target", "sm_89", "--max-batch", "1024", "--max-sequence", "1000000"),
            2,
            "limits.memory",
            "the KV caches of 1024 sequences of 1000000 positions take 262.1 GB (256 bytes a position), more than any "
            "GPU of sm_89 has (48 GB); lower --max-batch or --max-sequence",
        ),
        (("--target", "sm_89", "--max-sequence", "1000001"), 2, "limits.max_sequence", "not between 1 and"),
        (("--target", "sm_89", "--max-batch", "1025"), 2, "limits.max_batch", "not between 1 and 1024"),
        (("--target", "sm_90"), 6, "compiler.package_missing", "needs the Python package 'tensorrt'"),
        (("--target", "sm_89", "--option", "profiles=3"), 2, "compiler.option", "one of shared, exact, single"),
        (("--target", "sm_89", "--option", "speed=9"), 2, "compiler.option", "has no option 'speed'; it has profiles"),
    ],
)
def test_refused(
    run: Run, model: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, slug: str, words: str
) -> None:
    found, value, _ = run(model, "-o", tmp_path / "x.bundle", *arguments)
    assert (found, value["error"]["code"]) == (code, slug)
    assert words in value["error"]["message"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
