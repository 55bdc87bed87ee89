"""The numpy decoder agrees with Transformers' golden files: only then may other tests lean on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.e2e.kit.numpy_decoder import NumpyDecoder, inverse_frequencies
from trtmc.e2e.comparators import compare_greedy, compare_logits
from trtmc.e2e.goldens import load_golden
from trtmc.e2e.manifest import CheckpointKind, load_manifest
from trtmc.e2e.tiny import seeded_values, tensor_shapes

ROOT = Path(__file__).absolute().parents[2]
TINY = [
    path
    for path in sorted(ROOT.glob("families/*/e2e/*.toml"))
    if load_manifest(path).checkpoint.kind is CheckpointKind.TINY
]


def test_there_are_manifests() -> None:
    assert len(TINY) >= 10


@pytest.mark.parametrize("path", TINY, ids=[path.stem for path in TINY])
def test_agrees_with_transformers(path: Path) -> None:
    manifest = load_manifest(path)
    config = manifest.checkpoint.config
    model = NumpyDecoder(config, seeded_values(tensor_shapes(config), manifest.checkpoint.seed))
    for case in load_golden(manifest.golden).cases[:4]:
        for turn in case.turns:
            logits = model.logits([*turn.prompt_ids, *turn.greedy_ids])
            expected = np.stack([row.expected() for row in turn.rows])
            actual = np.stack([row.pick(logits[row.row]) for row in turn.rows])
            first = len(turn.prompt_ids) - 1
            made = [int(i) for i in logits[first : first + len(turn.greedy_ids)].argmax(-1)]
            metrics = [
                *compare_logits(case.name, expected, actual, 0.9999999),
                compare_greedy(case.name, turn.greedy_ids, made),
            ]
            assert not [metric.sentence() for metric in metrics if not metric.passed]


def test_llama3_frequencies_are_those_that_transformers_computes() -> None:
    scaling = {
        "rope_type": "llama3",
        "factor": 3.7,
        "low_freq_factor": 1.3,
        "high_freq_factor": 2.9,
        "original_max_position_embeddings": 64,
    }
    found = inverse_frequencies({"rope_theta": 10000.0, "rope_scaling": scaling}, 24)
    known = [
        1,
        0.464159,
        0.14612,
        0.027027,
        0.012545,
        0.005823,
        0.002703,
        0.001254,
        0.000582,
        0.00027,
        0.000125,
        0.000058,
    ]
    assert np.abs(found - known).max() < 6e-7
