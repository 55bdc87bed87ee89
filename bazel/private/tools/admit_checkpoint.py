"""Brings files into the build graph as a checkpoint folder with its checkpoint.json. Called by the rule `checkpoint`
with a manifest:

    {"files": {name: path}, "gguf": path or null, "dtype": "float16", "source": "...", "revision": "..."}

It knows no family: what a family refuses, it refuses when an engine is built.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from bazel.private.tools.admission import run
from trtmc.checkpoints.gguf import convert_gguf


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


if __name__ == "__main__":
    sys.exit(run(gather, *sys.argv[1:]))
