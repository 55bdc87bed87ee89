"""The conformance suite as a test: one manifest, every precision, every runner that this run has, every check.

    TRTMC_E2E_MANIFEST     one manifest (without it: all of them)
    TRTMC_E2E_CHECKPOINT   folder of the named checkpoint, for manifests that need one
    TRTMC_RUNTIME_ROOT     the C++ runtime; without it only the Python reference session runs

The macro ``family_conformance_test`` of ``defs.bzl`` sets them. Evidence goes to the folder that Bazel keeps.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from hashlib import file_digest, sha256
from pathlib import Path

import numpy as np
import pytest

from trtmc.bundle import read_bundle
from trtmc.e2e.bundles import build_bundle, check_fingerprint, checkpoint_folder
from trtmc.e2e.comparators import Metric
from trtmc.e2e.conformance import CHECKS, SAME_LOGITS, Subject
from trtmc.e2e.evidence import Evidence, write_evidence
from trtmc.e2e.goldens import load_golden
from trtmc.e2e.manifest import CheckpointKind, Manifest, load_manifest
from trtmc.e2e.runners import ReferenceRunner, RuntimeRunner, find_runtime_root

ROOT = Path(__file__).absolute().parents[3]
GIVEN = os.environ.get("TRTMC_E2E_CHECKPOINT")
RUNTIME = os.environ.get("TRTMC_RUNTIME_ROOT")


def manifests() -> list[Manifest]:
    """The one that was asked for; else all that need no checkpoint from outside."""
    one = os.environ.get("TRTMC_E2E_MANIFEST")
    if one:
        return [load_manifest(Path(one).resolve())]
    found = [load_manifest(path) for path in sorted(ROOT.glob("families/*/e2e/*.toml"))]
    return [manifest for manifest in found if manifest.checkpoint.kind is CheckpointKind.TINY or GIVEN]


def runners(manifest: Manifest, compute: str = "") -> list[str]:
    """The Python session is for small models and the bundle's own arithmetic; all else needs the runtime."""
    python = ["python"] if manifest.checkpoint.kind is CheckpointKind.TINY and not compute else []
    return python + (["runtime"] if RUNTIME else [])


CASES = [(m, p.name, r) for m in manifests() for p in m.precisions for r in runners(m, p.compute)]
IDS = [f"{manifest.name}-{precision}-{runner}" for manifest, precision, runner in CASES]


@cache
def scratch() -> Path:
    """One folder for all bundles of this run."""
    return Path(tempfile.mkdtemp(prefix="conformance-", dir=os.environ.get("TEST_TMPDIR")))


@cache
def checkpoint(path: Path) -> Path:
    """The checkpoint of a manifest, compared with the golden file's fingerprint."""
    manifest = load_manifest(path)
    folder = checkpoint_folder(manifest, scratch(), Path(GIVEN).resolve() if GIVEN else None)
    check_fingerprint(manifest, load_golden(manifest.golden), folder)
    return folder


@cache
def bundle(path: Path, precision: str, *arguments: str) -> Path:
    """The bundle of one manifest in one precision, built once."""
    manifest = load_manifest(path)
    name = "-".join([manifest.name, precision, *(argument.strip("-") for argument in arguments)])
    output = scratch() / f"{name}.bundle"
    return build_bundle(manifest, checkpoint(path), output, "--precision", precision, *arguments)


@cache
def subject(path: Path, precision: str, runner: str) -> Subject:
    """What the checks run on, loaded once."""
    manifest = load_manifest(path)
    spec = manifest.precision(precision)
    file = bundle(path, spec.build_precision)
    if runner == "python":
        return Subject(manifest, load_golden(manifest.golden), spec, ReferenceRunner(file))
    loaded = RuntimeRunner(file, find_runtime_root(str(RUNTIME)), compute=spec.compute)
    return Subject(manifest, load_golden(manifest.golden), spec, loaded)


@cache
def figures(path: Path, precision: str, runner: str, check: str) -> tuple[Metric, ...]:
    """The metrics of one check, measured once: the tests judge them and the evidence keeps them."""
    return tuple(CHECKS[check](subject(path, precision, runner)))


def failures(metrics: tuple[Metric, ...]) -> list[str]:
    return [metric.sentence() for metric in metrics if not metric.passed]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("manifest", "precision", "runner"), CASES, ids=IDS)
def test_conformance(manifest: Manifest, precision: str, runner: str, check: str) -> None:
    metrics = figures(manifest.path, precision, runner, check)
    assert metrics
    assert not failures(metrics)


@pytest.mark.parametrize("manifest", [m for m in manifests() if "python" in runners(m)], ids=lambda m: m.name)
def test_rows_of_a_batch_do_not_see_each_other(manifest: Manifest) -> None:
    runner = ReferenceRunner(bundle(manifest.path, "fp32", "--max-batch", "3"))
    vocab = int(str(manifest.checkpoint.config["vocab_size"]))
    rows = np.random.default_rng(6).integers(0, vocab, (3, 11))
    together = runner.batch_logits(rows.tolist())
    for row, logits in zip(rows.tolist(), together, strict=True):
        alone = runner.logits(row)
        assert np.abs(alone - logits).max() <= SAME_LOGITS * np.abs(alone).max()


@pytest.mark.parametrize("manifest", manifests(), ids=lambda m: m.name)
def test_the_builder_is_deterministic(manifest: Manifest) -> None:
    first, second = (
        build_bundle(manifest, checkpoint(manifest.path), scratch() / f"{name}.bundle", "--precision", "fp16")
        for name in ("first", "second")
    )
    assert file_digest(first.open("rb"), "sha256").digest() == file_digest(second.open("rb"), "sha256").digest()


def test_evidence_is_written() -> None:
    """All figures of this run, as files; the run's verdict is that of the tests above."""
    folder = Path(os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR", str(scratch())))
    for manifest, precision, runner in CASES:
        tested = subject(manifest.path, precision, runner)
        header = read_bundle(bundle(manifest.path, tested.precision.build_precision), verify="lazy")
        evidence = Evidence(
            manifest=manifest.name,
            manifest_sha256=sha256(manifest.path.read_bytes()).hexdigest(),
            checkpoint={"source": manifest.checkpoint.source, "revision": manifest.checkpoint.revision},
            precision=precision,
            target=header.header.targets[0].name,
            runner=runner,
            bundle_id=header.id,
            source_sha256=header.header.provenance.builder.source_sha256,
            inputs={case.name: len(tested.golden.case(case.name).turns) for case in manifest.cases},
            checks={check: figures(manifest.path, precision, runner, check) for check in CHECKS},
        )
        assert write_evidence(folder, evidence).is_file()
        assert evidence.passed
