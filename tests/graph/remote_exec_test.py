"""Remote execution on a real server, on the loopback interface: every action runs there, and the bytes are those of
a local build.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.harness import Checkout, checkout, sha256

#: C++, a checkpoint, an engine, a bundle and its check, and an image layer.
TARGETS = ("//bazel/private/testdata:bundle", "//cc/sampling:sampling", "//containers:base")


def programs(folder: Path) -> Path:
    """buildbox as programs that may be run: a wheel's files have no such mode."""
    names = os.environ.get("TRTMC_BUILDBOX", "").split()
    if not names or not shutil.which("bwrap"):
        pytest.skip("not run here: buildbox or bwrap is missing (tools/setup-containers.sh installs bubblewrap)")
    folder.mkdir()
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


@pytest.fixture(scope="module")
def executor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler, a cache and two workers in one process."""
    folder = tmp_path_factory.mktemp("buildbox")
    binaries = programs(folder / "bin")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [str(binaries / "buildbox-casd"), f"--bind=127.0.0.1:{port}", "--quota-high=5G", "--jobs=2"]
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
        yield f"grpc://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)
        subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def test_everything_runs_remotely_and_gives_the_same_bytes(tree: Checkout, executor: str, tmp_path: Path) -> None:
    tree.build(*TARGETS)
    options = ("--config=remote-exec", f"--remote_executor={executor}", "--spawn_strategy=remote", "--disk_cache=")
    with checkout(tmp_path, "client") as client:
        result = client.build(*options, *TARGETS)
        kinds = {spawn.mnemonic for spawn in result.executed()}
        assert {"TrtmcCheckpoint", "TrtmcEngine", "TrtmcBundle", "CppCompile", "TrtmcImageLayer"} & kinds
        assert not [spawn for spawn in result.spawns if spawn.runner not in ("remote", "remote cache hit")]
        for target in TARGETS:
            mine, theirs = tree.files(target), client.files(target)
            assert [sha256(path) for path in mine] == [sha256(path) for path in theirs], target
        client.bazel("clean")
        again = client.build(*options, *TARGETS)
        assert again.spawns and again.executed() == [], "the second build is all remote cache hits"
