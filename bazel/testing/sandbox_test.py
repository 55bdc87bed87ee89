"""What an action sees of the machine: no network, no installed packages, no home, a /tmp of its own."""

from __future__ import annotations

import importlib.util
import os
import socket
import sys
from pathlib import Path

import pytest


def test_there_is_no_network() -> None:
    with pytest.raises(OSError) as caught:
        socket.create_connection(("192.0.2.1", 9), timeout=2)
    assert not isinstance(caught.value, TimeoutError), "a route exists; without one the kernel refuses at once"
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


def test_packages_of_the_machine_are_not_seen() -> None:
    assert sys.prefix != sys.base_prefix, "the interpreter runs in a virtual environment"
    outside = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    assert all(path.startswith(sys.prefix) for path in outside)
    assert importlib.util.find_spec("pip") is None


def test_tmp_is_the_actions_own() -> None:
    assert not [path for path in Path("/tmp").iterdir() if path.name.startswith("bash_")]
    probe = Path("/tmp/trtmc-sandbox-probe")
    assert not probe.exists(), "left by another action"
    probe.write_text("x")


def test_the_environment_is_not_the_users() -> None:
    places = [place for place in os.environ["PATH"].split(":") if place != "."]
    assert places == ["/bin", "/usr/bin", "/usr/local/bin"]
    assert "PIP_CONFIG_FILE" not in os.environ and "SSH_AUTH_SOCK" not in os.environ
