"""`make demo`: builds the runtime and a bundle, then answers a chat question.

When nothing has changed since the last build, the answer starts without asking Bazel: the state of every source file
(name, size, time), of the compiler
and Python, and of the built files themselves is compared with that of the last build. Any difference, or any doubt,
means a build.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
RUNTIME = "//cc:runtime_root"
BUNDLE = "//families/{family}:bundle"
DEFAULT_PROMPT = "Give me three short reasons to learn to sail."


def stat_line(path: Path) -> str:
    """Name, size and times of a file; what changes when the file does."""
    try:
        stat = path.stat()
    except OSError:
        return f"{path} -"
    return f"{path} {stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}"


def source_files() -> list[Path] | None:
    """Every file that may enter a build, or None when that cannot be told."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPO,
        capture_output=True,
        check=False,
    )
    if listed.returncode != 0:
        return None
    names = [name for name in listed.stdout.decode("utf-8", "surrogateescape").split("\0") if name]
    return [REPO / name for name in sorted(set(names))] + [REPO / "user.bazelrc"]


def fingerprint(outputs: list[str], family: str) -> str | None:
    """A digest of everything that the answer depends on, or None when it cannot be told."""
    files = source_files()
    if files is None:
        return None
    tools = [os.path.realpath(found) for found in map(shutil.which, ("gcc", "python3", "bazel")) if found]
    variables = [f"{name}={os.environ.get(name, '')}" for name in ("CC", "HOST_PYTHON", "CPLUS_INCLUDE_PATH")]
    lines = [stat_line(path) for path in files] + [stat_line(Path(path)) for path in [*tools, *outputs]]
    return hashlib.sha256(
        "\n".join([str(REPO), family, *variables, *lines]).encode("utf-8", "surrogateescape")
    ).hexdigest()


def stamp_path(family: str) -> Path:
    """Where the state of the last build is kept: per user, checkout and family."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "trtmc" / "demo" / f"{hashlib.sha256(str(REPO).encode()).hexdigest()[:16]}-{family}.json"


def fresh_outputs(family: str) -> list[str] | None:
    """The files of the last build, if they are still what a build would give."""
    try:
        saved = json.loads(stamp_path(family).read_text("utf-8"))
        outputs = [str(path) for path in saved["outputs"]]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return outputs if saved.get("fingerprint") == fingerprint(outputs, family) else None


def build(family: str) -> list[str]:
    """Builds with visible progress; returns absolute paths: the files of the runtime root, then the bundle."""
    targets = [RUNTIME, BUNDLE.format(family=family)]
    if subprocess.run(["bazel", "build", "--show_result=0", *targets], cwd=REPO, check=False).returncode != 0:
        raise SystemExit("demo: the build failed (see above)")
    found: list[str] = []
    for target in targets:
        listed = subprocess.run(
            ["bazel", "cquery", "--ui_event_filters=-info,-debug", "--noshow_progress", "--output=files", target],
            cwd=REPO,
            capture_output=True,
            text=True,
            check=False,
        )
        if listed.returncode != 0:
            raise SystemExit(f"demo: cannot list the files of {target}:\n{listed.stderr}")
        found += [os.path.realpath(REPO / line) for line in listed.stdout.splitlines() if line]
    return found


def main(argv: list[str]) -> int:
    """Builds if need be, then runs the runtime and returns its exit code."""
    parser = argparse.ArgumentParser(prog="demo.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--prompt", default="", help="the question; a default one is asked otherwise")
    parser.add_argument("--family", default="llama")
    arguments = parser.parse_args(argv)
    outputs = fresh_outputs(arguments.family)
    if outputs is None:
        # Taken before the build, so that an edit during the build is seen by the next run.
        before = fingerprint([], arguments.family)
        outputs = build(arguments.family)
        if before is not None and before == fingerprint([], arguments.family):
            path = stamp_path(arguments.family)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(
                json.dumps({"fingerprint": fingerprint(outputs, arguments.family), "outputs": outputs}), "utf-8"
            )
    program = next(path for path in outputs if path.endswith("/bin/trtmc"))
    bundle = next(path for path in outputs if path.endswith(".bundle"))
    prompt = arguments.prompt or DEFAULT_PROMPT
    print(f"> {prompt}\n", flush=True)
    # A process of its own, so that "after start" in its figures means its own start.
    runtime = subprocess.Popen([program, "chat", bundle, "--message", prompt])
    while True:
        try:
            return runtime.wait()
        except KeyboardInterrupt:
            continue  # The runtime got it as well, and ends by itself.


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
