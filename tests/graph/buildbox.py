"""buildbox-casd as a server on the loopback interface: a store, and a worker where it is given the runner."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs(folder: Path) -> Path:
    """buildbox as programs that may be run: a wheel's files have no such mode."""
    names = os.environ.get("TRTMC_BUILDBOX", "").split()
    if not names or not shutil.which("bwrap"):
        pytest.skip("not run here: buildbox or bwrap is missing (tools/setup-containers.sh installs bubblewrap)")
    folder.mkdir(parents=True)
    for name in names:
        source = Path(__file__).absolute().parents[2] / name
        shutil.copy(source, folder / source.name)
        (folder / source.name).chmod(0o755)
    return folder


def mounts() -> list[str]:
    """What a worker sees of the machine: compiler, libraries, Python. Links at the top are given by their targets."""
    pairs = [("/usr", "/usr"), ("/usr/bin", "/bin"), ("/usr/lib", "/lib"), ("/usr/lib64", "/lib64"), ("/etc", "/etc")]
    base = os.path.realpath(sys.base_prefix)
    if not base.startswith("/usr"):
        pairs.append((base, base))
    return [f"--runner-arg=--ro-bind-mount={source}:{target}" for source, target in pairs]


@contextmanager
def worker(folder: Path, binaries: Path, store: str = "") -> Iterator[str]:
    """A server that runs two actions at once; gives host:port. With `store`, blobs and results are kept there."""
    folder.mkdir(parents=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [str(binaries / "buildbox-casd"), f"--bind=127.0.0.1:{port}", "--quota-high=5G", "--jobs=2"]
    if store:
        words += [f"--cas-remote=http://{store}", f"--ac-remote=http://{store}"]
    words += [f"--buildbox-run={binaries / 'buildbox-run'}", *mounts(), str(folder / "cas")]
    with open(folder / "log", "wb") as log:
        environment = {**os.environ, "PATH": f"{binaries}:{os.environ['PATH']}"}
        process = subprocess.Popen(words, stdout=log, stderr=log, env=environment)
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        else:
            pytest.skip(f"not run here: buildbox-casd does not start: {(folder / 'log').read_text()[-500:]}")
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)
