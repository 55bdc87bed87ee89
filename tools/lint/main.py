"""`make lint` and `make format`: ruff, and the checks of checks.py, over every file that git knows or would add.

bazel run //tools/lint            complains, and fails if there is anything to say
bazel run //tools/lint -- --fix   formats in place first
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.lint import checks

RUFF = next(Path(__file__).parents[2].parent.glob("*wheel_ruff/ruff-*.data/scripts/ruff"), None)


def sources(root: Path) -> list[checks.Source]:
    """Every text file of the tree."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True)
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = root / name
        if path.is_file():
            try:
                found.append(checks.Source(name, path.read_text("utf-8")))
            except UnicodeDecodeError:
                continue
    return found


def ruff(root: Path, *arguments: str) -> bool:
    """Runs the pinned ruff; its complaints go to the terminal."""
    program = os.environ.get("RUFF") or str(RUFF)
    return subprocess.run([program, *arguments, "--no-cache", "."], cwd=root, check=False).returncode == 0


def complaints(root: Path) -> list[str]:
    """What the checks of this project have to say."""
    files = sources(root)
    exemptions = checks.read_exemptions((root / "tools/lint/long_files.txt").read_text("utf-8"))
    return checks.too_long(files, exemptions) + checks.registry_hosts(files) + checks.missing_docstrings(files)


def main(argv: list[str]) -> int:
    """Runs everything; returns 1 if there is anything to say."""
    root = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", "."))
    if "--fix" in argv:
        ruff(root, "check", "--fix", "--quiet")
        ruff(root, "format")
    fine = [ruff(root, "check"), ruff(root, "format", "--check")]
    found = complaints(root)
    print("\n".join(found))
    return 0 if all(fine) and not found else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
