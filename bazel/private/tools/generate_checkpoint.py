"""Writes a tiny checkpoint with seeded random weights. Called by the rule `generated_checkpoint` with a manifest:

{"config": {...}, "seed": 7, "dtype": "float32", "text_from": folder or null, "source": "generated", "revision": "..."}
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from bazel.private.tools.admission import run
from trtmc.e2e.tiny import make_tiny

TEXT_FILES = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja"]


def generate(manifest: dict[str, Any], scratch: Path) -> Path:
    """The folder with the random weights, and the other checkpoint's text files if there is one."""
    folder = make_tiny(scratch, manifest["config"], manifest["seed"], manifest["dtype"])
    for name in TEXT_FILES if manifest["text_from"] else []:
        source = Path(manifest["text_from"]) / name
        if source.is_file():
            shutil.copyfile(source, folder / name)
    return folder


if __name__ == "__main__":
    sys.exit(run(generate, *sys.argv[1:]))
