"""Checkpoints: how model files enter the build graph, from a GGUF file, a folder, a hub, or a seeded generator.

    convert_gguf(Path("model.gguf"), Path("out"), "float16")
    ingest_folder(Path("folder"), Path("out"), "hub:org/model", "8c3f…")
    download(HubModel("https://…", "org/model", "8c3f…", {"config.json": "…sha256"}), Path("out"))
    generate_tiny(Path("out"), TinySpec(model_type="qwen3", seed=7))

Each leaves a folder in the Hugging Face layout, whole or not at all. Names are loaded on first use, so that the
generator does not need the `gguf` package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trtmc.checkpoints.gguf import convert_gguf
    from trtmc.checkpoints.hub import HubModel, download
    from trtmc.checkpoints.ingest import ingest_folder
    from trtmc.checkpoints.tiny import TinySpec, generate_tiny

_HOME = {
    "HubModel": "hub",
    "TinySpec": "tiny",
    "convert_gguf": "gguf",
    "download": "hub",
    "generate_tiny": "tiny",
    "ingest_folder": "ingest",
}

__all__ = ["HubModel", "TinySpec", "convert_gguf", "download", "generate_tiny", "ingest_folder"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
