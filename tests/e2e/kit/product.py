"""The product as a user meets it: ``trtmc-build`` and ``trtmc``, with exit code, output and what they left on disk.

``build`` runs the builder's command line in this process (fast; the signal tests start a real process). ``trtmc`` and
``pipeline`` use the C++ side under TRTMC_RUNTIME_ROOT (bin/trtmc, lib/…), which the build graph provides.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trtmc.cli.main import run as run_build
from trtmc.e2e.runners import ModelRunner, ReferenceRunner, RuntimeRunner, find_runtime_root

ROOT_VARIABLE = "TRTMC_RUNTIME_ROOT"


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The JSON object on stdout (the last line that is one)."""
        for line in reversed(self.stdout.splitlines()):
            if line.startswith("{"):
                return dict(json.loads(line))
        raise AssertionError(f"no JSON object on stdout: {self.stdout!r}; stderr: {self.stderr!r}")

    @property
    def error_code(self) -> str:
        """The slug of the error that ``--json`` reports."""
        return str(self.json["error"]["code"])

    def says(self, *words: str) -> bool:
        """Whether the error sentence contains all these words."""
        return all(word in self.stderr for word in words)


def build(checkpoint: Path, output: Path, *arguments: str) -> Outcome:
    """``trtmc-build CHECKPOINT -o OUTPUT --json …``, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_build([str(checkpoint), "-o", str(output), "--json", *arguments])
    return Outcome(code, out.getvalue(), err.getvalue())


def inspect(bundle: Path) -> dict[str, Any]:
    """The header of a bundle, as ``trtmc-build inspect --json`` tells it."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run_build(["inspect", str(bundle), "--json"])
    assert code == 0, out.getvalue()
    return dict(json.loads(out.getvalue())["header"])


def built(checkpoint: Path, *arguments: str) -> Path:
    """Builds a bundle beside the checkpoint folder and insists that it worked."""
    tag = "".join(character if character.isalnum() else "_" for character in "".join(arguments))
    output = checkpoint.with_name(f"{checkpoint.name}{tag}.bundle")
    outcome = build(checkpoint, output, *arguments)
    assert outcome.exit_code == 0, outcome.stderr
    return output


def builder_process(arguments: Sequence[str], **kwargs: Any) -> subprocess.Popen[str]:
    """A real ``trtmc-build`` process, for signals and limits."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "trtmc.cli", *arguments]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


def refused(
    checkpoint: Path, *words: str, arguments: Sequence[str] = (), exit_codes: Sequence[int] = (3, 4)
) -> Outcome:
    """Insists that a build fails with one of the exit codes, says these words, and leaves nothing behind."""
    folder = checkpoint.parent / f"{checkpoint.name}-out"
    folder.mkdir(exist_ok=True)
    outcome = build(checkpoint, folder / "x.bundle", *arguments)
    assert outcome.exit_code in exit_codes, f"exit {outcome.exit_code}: {outcome.stdout}{outcome.stderr}"
    missing = [word for word in words if word not in outcome.stderr]
    assert not missing, f"the message lacks {missing}: {outcome.stderr}"
    assert outcome.error_code
    left = sorted(path.name for path in folder.iterdir())
    assert not left, f"a failed build left {left}"
    return outcome


def runtime_root() -> Path | None:
    """Where the C++ runtime is, if this run has one."""
    value = os.environ.get(ROOT_VARIABLE)
    return find_runtime_root(value) if value else None


def answer(bundle: Path) -> ModelRunner:
    """The C++ runtime where there is one, else the Python reference session."""
    root = runtime_root()
    return RuntimeRunner(bundle, root) if root is not None else ReferenceRunner(bundle)


def trtmc(
    *arguments: str, stdin: str | bytes = "", environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Outcome:
    """The C++ command line tool; skips the test where this run has no runtime."""
    root = runtime_root()
    if root is None:
        pytest.skip(f"needs the C++ runtime: set {ROOT_VARIABLE}, or run through the build graph")
    command = [str(root / "bin" / "trtmc"), *arguments]
    data = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        command,
        input=data,
        capture_output=True,
        check=False,
        timeout=300,
        cwd=cwd,
        env={**os.environ, **(environment or {})},
    )
    return Outcome(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))


def pipeline(bundle: Path) -> Any:
    """The bundle through the Python module ``trtmc.runtime``; skips the test where this run has no runtime."""
    root = runtime_root()
    if root is None:
        pytest.skip(f"needs the C++ runtime: set {ROOT_VARIABLE}, or run through the build graph")
    from trtmc import runtime  # only here: the native half exists where the C++ part was built

    return runtime.load(bundle, runtime_root=root)
