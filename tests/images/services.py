"""A container engine and a registry for tests: started by hand, on this machine alone, and gone afterwards without
a trace.

Both keep everything in one folder of their own. Where one cannot start, the test that asks for it says "not run
here" and why.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pytest

os.environ["PATH"] += ":/usr/sbin:/sbin"
PATIENCE_S = 60


def program(name: str) -> str:
    """The path of a program, or a test that is not run here."""
    found = shutil.which(name)
    if not found:
        pytest.skip(f"not run here: there is no {name} (tools/setup-containers.sh installs it)")
    return found


def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(process: subprocess.Popen[Any], ready: Callable[[], bool]) -> bool:
    """Whether a service came up; it may end instead."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end and process.poll() is None:
        if ready():
            return True
        time.sleep(0.1)
    return False


def stop(process: subprocess.Popen[Any]) -> None:
    """Ends a service and waits for it."""
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """A folder with a short path (sockets need that), removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=f"trtmc-{name}-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Engine:
    """A running Docker engine."""

    client: docker.DockerClient
    socket: Path
    root: Path


def _answers(client: docker.DockerClient) -> bool:
    try:
        return bool(client.ping())
    except (docker.errors.DockerException, OSError):
        return False


def _start_engine(root: Path, driver: str) -> tuple[subprocess.Popen[bytes], docker.DockerClient] | None:
    words = [program("dockerd"), f"--host=unix://{root}/s", f"--data-root={root}/data", f"--exec-root={root}/exec"]
    words += [f"--pidfile={root}/pid", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"]
    words += ["--bridge=none", f"--storage-driver={driver}"]
    with open(root / "log", "ab") as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    client = docker.DockerClient(base_url=f"unix://{root}/s", version="1.41")
    if wait_until(process, lambda: (root / "s").exists() and _answers(client)):
        return process, client
    stop(process)
    return None


@contextmanager
def engine() -> Iterator[Engine]:
    """A Docker engine of our own."""
    program("dockerd")
    program("runc")
    if os.getuid() != 0:
        pytest.skip("not run here: an engine is started as root alone")
    with scratch("docker") as root:
        started = _start_engine(root, "overlay2") or _start_engine(root, "vfs")
        if not started:
            last = (root / "log").read_text("utf-8", "replace").strip().splitlines()[-1:]
            pytest.skip(f"not run here: dockerd does not start: {last}")
        process, client = started
        try:
            yield Engine(client, root / "s", root)
        finally:
            for container in client.containers.list(all=True):
                container.remove(force=True)
            client.close()
            stop(process)
            for mounted in (root / "exec" / "netns").glob("*"):
                subprocess.run(["umount", str(mounted)], capture_output=True, check=False)


_REGISTRY = """\
version: 0.1
storage:
  filesystem:
    rootdirectory: {root}/data
http:
  addr: 127.0.0.1:{port}
"""


@contextmanager
def registry() -> Iterator[str]:
    """A registry on the loopback interface; gives its host:port."""
    binary = program("docker-registry")
    with scratch("registry") as root:
        port = free_port()
        (root / "config.yml").write_text(_REGISTRY.format(root=root, port=port), "utf-8")
        with open(root / "log", "wb") as log:
            process = subprocess.Popen([binary, "serve", str(root / "config.yml")], stdout=log, stderr=log)
        try:
            if not wait_until(process, lambda: _up(f"http://127.0.0.1:{port}/v2/")):
                pytest.skip("not run here: docker-registry does not start")
            yield f"127.0.0.1:{port}"
        finally:
            stop(process)


def _up(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
