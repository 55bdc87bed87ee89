"""The common end of the tools that bring a checkpoint into the build graph: read the manifest, fill a folder beside the
output, admit it as a checkpoint, report what was refused.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trtmc.checkpoints.ingest import admit
from trtmc.core.admission import checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import TrtmcError

Fill = Callable[[dict[str, Any], Path], Path]


def run(fill: Fill, manifest_path: str, out: str) -> int:
    """Admits the folder that `fill(manifest, scratch)` returns as `out`; returns the exit code."""
    manifest = json.loads(Path(manifest_path).read_text("utf-8"))
    try:
        with tempfile.TemporaryDirectory(dir=Path(out).parent, prefix=".checkpoint.") as scratch:
            opened = Checkpoint(fill(manifest, Path(scratch)))
            admit(opened, checkpoint_files(opened), Path(out), manifest["source"], manifest["revision"])
    except TrtmcError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0
