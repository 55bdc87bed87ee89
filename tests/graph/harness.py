"""A second checkout with a Bazel of its own, for tests that ask questions about the build graph itself.

A `Checkout` is a copy of the tree under test in another folder, with an output base of its own. Bazel's repository
cache (downloads by hash) is shared
with the machine, so that nothing is fetched again; whether actions share a cache is the test's choice. It knows
nothing of families.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: A server that lives for a few commands is better off without the compiler that pays after minutes, and with a simple
#: garbage collector: a quarter less of processor time.
STARTUP = ("--host_jvm_args=-XX:TieredStopAtLevel=1", "--host_jvm_args=-XX:+UseSerialGC")

ROOT = Path(os.environ.get("BUILD_WORKSPACE_DIRECTORY", Path(__file__).resolve().parents[2]))


@dataclass(frozen=True)
class Spawn:
    """One action that Bazel ran or found in a cache."""

    mnemonic: str
    label: str
    cached: bool
    runner: str = ""


@dataclass(frozen=True)
class Result:
    """What a Bazel command said."""

    code: int
    text: str
    spawns: tuple[Spawn, ...]
    stdout: str = ""

    def executed(self, mnemonic: str | None = None) -> list[Spawn]:
        """The actions that really ran."""
        return [spawn for spawn in self.spawns if not spawn.cached and mnemonic in (None, spawn.mnemonic)]


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def can_unplug() -> bool:
    """Whether a network namespace without any network can be made here."""
    probe = ["unshare", *_user_flag(), "-n", "ip", "link", "set", "lo", "up"]
    return (
        shutil.which("unshare") is not None
        and shutil.which("ip") is not None
        and subprocess.run(probe, capture_output=True, check=False).returncode == 0
    )


def _user_flag() -> list[str]:
    return [] if os.getuid() == 0 else ["-r"]


@dataclass
class Checkout:
    """One folder with the tree, and one output base."""

    folder: Path
    output_base: Path
    unplugged: bool = False
    startup: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()

    def bazel(self, command: str, *arguments: str, env: dict[str, str] | None = None) -> Result:
        """Runs one Bazel command; the log of actions is read for commands that have one."""
        log = self.output_base.parent / f"{self.output_base.name}.spawns.json"
        log.unlink(missing_ok=True)
        words = ["bazel", f"--output_base={self.output_base}", "--max_idle_secs=60", *STARTUP, *self.startup, command]
        if command in ("build", "test", "run"):
            words += [f"--execution_log_json_file={log}", "--curses=no", "--color=no", "--jobs=2"]
        words += arguments
        if self.unplugged:
            words = ["unshare", *_user_flag(), "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words]
        done = subprocess.run(
            [*self.prefix, *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, **(env or {})},
        )
        return Result(done.returncode, done.stdout + done.stderr, tuple(_spawns(log)), done.stdout)

    def build(self, *arguments: str, env: dict[str, str] | None = None) -> Result:
        """`bazel build`, which must succeed."""
        result = self.bazel("build", *arguments, env=env)
        assert result.code == 0, f"bazel build {' '.join(arguments)} in {self.folder} failed:\n{result.text[-6000:]}"
        return result

    def files(self, target: str, *options: str) -> list[Path]:
        """The files that a built target gives; not those of the same target for others, whom a transition asked for."""
        result = self.bazel(
            "cquery",
            "--output=files",
            "--noshow_progress",
            "--ui_event_filters=-info,-warning,-debug,-stderr",
            *options,
            f"config({target}, target)",
        )
        assert result.code == 0, result.text
        execroot = (
            self.bazel("info", "execution_root", "--ui_event_filters=-info,-warning", *options)
            .stdout.strip()
            .splitlines()[-1]
        )
        return [
            Path(execroot) / line for line in result.stdout.splitlines() if line.startswith(("bazel-out/", "external/"))
        ]

    @contextmanager
    def appended(self, name: str, text: str) -> Iterator[None]:
        """A file of this checkout with text added at its end; as it was afterwards."""
        path = self.folder / name
        before = path.read_text("utf-8")
        path.write_text(before + text, "utf-8")
        try:
            yield
        finally:
            path.write_text(before, "utf-8")

    def close(self) -> None:
        """Stops this output base's server and removes what it made."""
        self.bazel("shutdown")
        subprocess.run(["chmod", "-R", "u+w", str(self.output_base)], check=False)
        shutil.rmtree(self.output_base, ignore_errors=True)


def _spawns(log: Path) -> Iterator[Spawn]:
    """Reads the execution log: JSON objects, one after the other."""
    if not log.is_file():
        return
    decoder = json.JSONDecoder()
    text = log.read_text("utf-8")
    position = 0
    while position < len(text):
        value: dict[str, Any]
        value, position = decoder.raw_decode(text, position)
        while position < len(text) and text[position].isspace():
            position += 1
        yield Spawn(
            value.get("mnemonic", ""),
            value.get("targetLabel", ""),
            bool(value.get("cacheHit")),
            value.get("runner", ""),
        )


def copy_tree(target: Path) -> None:
    """Copies the tree under test (tracked and new files, without ignored ones) into a folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target / name)


@contextmanager
def checkout(scratch: Path, name: str, unplugged: bool = False) -> Iterator[Checkout]:
    """A second checkout, removed afterwards."""
    made = Checkout(scratch / name / "tree", scratch / name / "base", unplugged)
    made.folder.mkdir(parents=True)
    copy_tree(made.folder)
    try:
        yield made
    finally:
        made.close()
