"""Brings files into the build graph as a checkpoint folder with its checkpoint.json. Called by the rule `checkpoint`
with a manifest:

    {"files": {name: path}, "gguf": path or null, "dtype": "float16", "source": "...", "revision": "..."}

It knows no family: what a family refuses, it refuses when an engine is built.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from trtmc.checkpoints.gguf import convert_gguf
from trtmc.checkpoints.ingest import admit
from trtmc.core.admission import checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import TrtmcError


def gather(manifest: dict[str, Any], scratch: Path) -> Path:
    """The folder that holds the checkpoint's files: where they lie already, or the scratch folder."""
    if manifest["gguf"]:
        convert_gguf(Path(manifest["gguf"]).resolve(), scratch, manifest["dtype"])
        return scratch
    # What Bazel hands over are links; a checkpoint is not read through links.
    files = {name: Path(path).resolve() for name, path in manifest["files"].items()}
    folders = {path.parent for path in files.values()}
    if len(folders) == 1 and all(path.name == name for name, path in files.items()):
        return folders.pop()
    for name, path in files.items():
        try:
            os.link(path, scratch / name)
        except OSError:  # another file system
            shutil.copyfile(path, scratch / name)
    return scratch


def main(manifest_path: str, out: str) -> int:
    """Reads the manifest, writes the folder."""
    manifest = json.loads(Path(manifest_path).read_text("utf-8"))
    try:
        with tempfile.TemporaryDirectory(dir=Path(out).parent, prefix=".gathered.") as scratch:
            opened = Checkpoint(gather(manifest, Path(scratch)))
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
