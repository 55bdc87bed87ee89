"""The images under test, as the build made them, and what their records say."""

from __future__ import annotations

import json
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).absolute().parents[2]


@dataclass(frozen=True)
class Archive:
    """One archive."""

    path: Path

    def read(self, name: str) -> Any:
        """A member that is JSON."""
        with tarfile.open(self.path) as tar:
            content = tar.extractfile(name)
            assert content is not None, name
            return json.load(content)

    def blob(self, digest: str) -> Any:
        """A blob that is JSON."""
        return self.read("blobs/sha256/" + digest.removeprefix("sha256:"))

    @property
    def image(self) -> dict[str, Any]:
        """The image's descriptor in the index."""
        return dict(self.read("index.json")["manifests"][0])

    @property
    def manifest(self) -> dict[str, Any]:
        """The image's manifest."""
        return dict(self.blob(self.image["digest"]))

    @property
    def config_digest(self) -> str:
        """The digest of the image's config."""
        return str(self.manifest["config"]["digest"])

    @property
    def tag(self) -> str:
        """VERSION-TARGET."""
        return str(self.image["annotations"]["org.opencontainers.image.ref.name"])

    @property
    def name(self) -> str:
        """repository:tag, as docker shows it."""
        return str(self.read("manifest.json")[0]["RepoTags"][0])

    def unpack(self, folder: Path) -> Path:
        """The archive as a folder: an OCI layout."""
        with tarfile.open(self.path) as tar:
            tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12's Python has none
            tar.extractall(folder)
        return folder


def runtimes() -> list[Archive]:
    """The runtime's image for every target."""
    return [Archive(path) for path in sorted((ROOT / "containers" / "runtimes").glob("*.tar"))]


RUNTIME = Archive(ROOT / "containers" / "runtime.tar")
LLAMA = Archive(ROOT / "families" / "llama" / "image.tar")
LINKS = Archive(ROOT / "tests" / "images" / "links.tar")
BUNDLE = ROOT / "families" / "llama" / "bundle.bundle"
PROGRAM = ROOT / "cc" / "runtime_root" / "bin" / "trtmc"
ORAS = ROOT / os.environ.get("TRTMC_ORAS", "oras")
