"""Writes a tiny checkpoint with seeded random weights. Called by the rule `generated_checkpoint` with a manifest:

{"config": {...}, "seed": 7, "dtype": "float32", "text_from": folder or null, "source": "generated", "revision": "..."}
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

from trtmc.checkpoints.ingest import admit
from trtmc.core.admission import checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import TrtmcError
from trtmc.e2e.tiny import make_tiny

TEXT_FILES = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]


def main(manifest_path: str, out: str) -> int:
    """Reads the manifest, writes the folder."""
    manifest = json.loads(Path(manifest_path).read_text("utf-8"))
    try:
        with tempfile.TemporaryDirectory(dir=Path(out).parent, prefix=".generated.") as scratch:
            folder = make_tiny(Path(scratch), manifest["config"], manifest["seed"], manifest["dtype"])
            for name in TEXT_FILES if manifest["text_from"] else []:
                source = Path(manifest["text_from"]) / name
                if source.is_file():
                    shutil.copyfile(source, folder / name)
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
