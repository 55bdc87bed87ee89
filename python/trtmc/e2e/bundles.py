"""From a manifest to the bundles under test: makes the tiny checkpoint (or takes the named one) and runs the builder.

Drives ``trtmc-build``'s own command line in this process; knows no model.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

from trtmc.cli.main import run
from trtmc.core.errors import BadInput
from trtmc.e2e.fingerprint import config_sha256, weights_sha256
from trtmc.e2e.goldens import UPDATE, Golden
from trtmc.e2e.manifest import CheckpointKind, Manifest
from trtmc.e2e.tiny import make_tiny


def checkpoint_folder(manifest: Manifest, scratch: Path, given: Path | None) -> Path:
    """The checkpoint of the manifest: generated into ``scratch``, or the one that the caller was given."""
    if manifest.checkpoint.kind is CheckpointKind.TINY:
        spec = manifest.checkpoint
        return make_tiny(scratch / manifest.name, spec.config, spec.seed, spec.dtype)
    if given is None:
        raise BadInput("e2e.checkpoint_missing", f"{manifest.path} needs the checkpoint {manifest.checkpoint.source}")
    return given


def check_fingerprint(manifest: Manifest, golden: Golden, folder: Path) -> None:
    """The golden file must have been made with this very checkpoint."""
    expected = {"weights": golden.weights_sha256, "config": golden.config_sha256}
    found = {"weights": weights_sha256(folder), "config": config_sha256(folder)}
    wrong = [what for what in expected if expected[what] != found[what]]
    if wrong:
        raise BadInput(
            "e2e.other_checkpoint",
            f"{manifest.golden} was made with other {' and '.join(wrong)} than those of {folder}; run {UPDATE}",
        )


def build_bundle(manifest: Manifest, folder: Path, output: Path, *arguments: str) -> Path:
    """Runs the builder; its error is this function's error."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        command = [str(folder), "-o", str(output), "--max-sequence", str(manifest.max_sequence), *arguments]
        code = run(command)
    if code != 0:
        raise BadInput("e2e.build_failed", f"{manifest.path}: trtmc-build exited with {code}: {errors.getvalue()}")
    return output
