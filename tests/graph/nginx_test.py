"""The recipe for a shared cache in docs/ci.md, as it stands there, with a real nginx."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.graph.harness import ROOT, Checkout

BASE = "//containers:base"


def recipe(port: int, folder: Path) -> str:
    """The page's configuration, at another port and in another folder, run by whoever runs the test."""
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    found = re.search(r"```nginx\n(.*?)```", page, re.S)
    assert found is not None
    text = (
        found[1].replace("listen 8089", f"listen 127.0.0.1:{port}").replace("/srv/bazel-cache", str(folder / "cache"))
    )
    head = f"daemon off; pid {folder}/pid; error_log {folder}/error.log;\n"
    return head + ("user root;\n" if os.getuid() == 0 else "") + text.replace("http {", "http { access_log off;")


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    binary = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if not binary:
        pytest.skip("not run here: there is no nginx (tools/setup-containers.sh installs it)")
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "cache").mkdir()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "nginx.conf").write_text(recipe(port, folder), "utf-8")
    words = [binary, "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    process = subprocess.Popen(words)
    try:
        end = time.monotonic() + 20
        while time.monotonic() < end and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        assert process.poll() is None, (folder / "error.log").read_text("utf-8")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def test_the_recipe_of_the_page_is_a_cache(tree: Checkout, nginx: str) -> None:
    options = ("--config=remote-cache", f"--remote_cache={nginx}", "--disk_cache=")
    tree.bazel("clean")
    assert tree.build(*options, "--remote_upload_local_results=true", BASE).executed("TrtmcImageLayer")
    tree.bazel("clean")
    again = tree.build(*options, BASE)
    assert again.spawns and again.executed() == []
