"""Builds libtrtmc_text.a: lays the workspace out (prepare.py) and runs cargo. Called by the rule rust_staticlib."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from prepare import prepare

from third_party.rust import cargo_build

if __name__ == "__main__":
    cargo_build.main(prepare)
