"""Brings files into the build graph as a checkpoint folder with its checkpoint.json. Called by the rule `checkpoint`
with a manifest:

    {"files": {name: path}, "gguf": path or null, "dtype": "float16", "source": "...", "revision": "..."}

It knows no family: what a family refuses, it refuses when an engine is built.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from trtmc.checkpoints.gguf import convert_gguf
from trtmc.checkpoints.ingest import admit
from trtmc.core.admission import checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import TrtmcError


def gather(manifest: dict[str, Any], folder: Path) -> None:
    """Puts the checkpoint's files into one folder: converted, or as links."""
    if manifest["gguf"]:
        convert_gguf(Path(manifest["gguf"]).resolve(), folder, manifest["dtype"])
        return
    for name, path in manifest["files"].items():
        (folder / name).symlink_to(Path(path).resolve())


def main(manifest_path: str, out: str) -> int:
    """Reads the manifest, writes the folder."""
    manifest = json.loads(Path(manifest_path).read_text("utf-8"))
    try:
        with tempfile.TemporaryDirectory(dir=Path(out).parent, prefix=".gathered.") as scratch:
            folder = Path(scratch)
            gather(manifest, folder)
            opened = Checkpoint(folder)
            admit(
                opened,
                checkpoint_files(opened),
                Path(out),
                manifest["source"],
                manifest["revision"],
            )
    except TrtmcError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
