"""`make in-container` with an engine that is a script: what it asks for, and every way in which it cannot begin."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tools import in_container
from tools.in_container import PYTHON, REPO, ContainerError, Engine

PLAIN = Engine("/usr/bin/docker", podman=False, rootless=False, apparmor=False, selinux=False)


def fake(folder: Path, name: str, info: str, run: str = "exit 0") -> Path:
    """An engine: `info` answers, `run` is done."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncase $1 in\ninfo) {info};;\nrun) {run};;\nesac\n", "utf-8")
    path.chmod(0o755)
    return path


def start(tmp_path: Path, engine: Path | str, *words: str) -> subprocess.CompletedProcess[str]:
    """The program as make starts it; the image is there already."""
    places = ["--cache", str(tmp_path / "home"), "--repository-cache", str(tmp_path / "downloads")]
    command = [sys.executable, in_container.__file__, "--engine", str(engine), "--image", "i", *places, *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)


def test_the_command_s_exit_status_is_passed_through(tmp_path: Path) -> None:
    engine = fake(tmp_path, "docker", "echo '[]'", "exit 42")
    assert start(tmp_path, engine, "--", "false").returncode == 42


def test_the_command_arrives_as_it_was_typed(tmp_path: Path) -> None:
    engine = fake(tmp_path, "docker", "echo '[]'", 'for last; do :; done; echo "<$last>"')
    done = start(tmp_path, engine, "--", "echo '$HOME'  \"two words\"; exit 3")
    assert done.stdout == "<echo '$HOME'  \"two words\"; exit 3>\n"


def test_no_engine_is_an_error_that_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ContainerError, match="neither docker nor podman is in") as caught:
        in_container.find_engine("")
    assert caught.value.code == "in_container.no_engine" and "apt-get install docker.io" in str(caught.value)
    done = start(tmp_path, "no-such-engine", "--", "true")
    assert (
        done.returncode == 4 and "error [in_container.no_engine]" in done.stderr and "'no-such-engine'" in done.stderr
    )


def test_an_engine_that_does_not_answer_is_quoted(tmp_path: Path) -> None:
    engine = fake(tmp_path, "docker", "echo 'Cannot connect to the Docker daemon' >&2; exit 1")
    done = start(tmp_path, engine, "--", "true")
    assert done.returncode == 4
    assert "error [in_container.engine_silent]" in done.stderr and "Cannot connect to the Docker daemon" in done.stderr


def test_an_image_that_nobody_has_is_named(tmp_path: Path) -> None:
    engine = fake(tmp_path, "docker", "echo '[]'")
    text = engine.read_text("utf-8").replace("esac", "image) exit 1;;\npull) echo no such host >&2; exit 1;;\nesac")
    engine.write_text(text, "utf-8")
    done = start(tmp_path, engine, "--", "true")
    assert done.returncode == 4 and "error [in_container.no_image]" in done.stderr and "no such host" in done.stderr


def test_nothing_to_run_and_no_terminal_is_an_error(tmp_path: Path) -> None:
    done = start(tmp_path, fake(tmp_path, "docker", "echo '[]'"))
    assert done.returncode == 2 and "error [in_container.no_command]" in done.stderr


def test_docker_prefers_itself_and_rootless_and_confined_engines_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, "docker", """echo '["name=seccomp,profile=default","name=rootless","name=apparmor"]'""")
    fake(tmp_path, "podman", """echo '{"rootless":true,"selinuxEnabled":true,"apparmorEnabled":false}'""")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert in_container.find_engine("") == Engine(str(tmp_path / "docker"), False, True, True, False)
    assert in_container.find_engine("podman") == Engine(str(tmp_path / "podman"), True, True, False, True)


def test_files_belong_to_the_caller_with_every_engine() -> None:
    assert PLAIN.user(1000, 100) == ["--user=1000:100"]
    assert Engine("docker", False, True, False, False).user(1000, 100) == ["--user=0:0"]
    assert Engine("podman", True, True, False, False).user(1000, 100) == ["--userns=keep-id", "--user=1000:100"]


def test_rights_are_the_least_that_the_sandbox_needs() -> None:
    words = PLAIN.security(root=False)
    assert "--cap-drop=ALL" in words and "--security-opt=no-new-privileges" in words
    assert not [
        word for word in words if word.startswith("--cap-add") or "privileged" in word.replace("no-new-privileges", "")
    ]
    assert [word for word in PLAIN.security(root=True) if word.startswith("--cap-add")] == ["--cap-add=SETFCAP"]
    assert "--security-opt=unmask=ALL" in Engine("podman", True, False, False, False).security(root=False)
    profile = json.loads(in_container.SECCOMP.read_text("utf-8"))
    (denied,) = [row for row in profile["syscalls"] if row["action"] == "SCMP_ACT_ERRNO"]
    assert not {"clone", "unshare", "mount", "umount2", "pivot_root"} & set(denied["names"])
    assert {"bpf", "keyctl", "init_module", "kexec_load", "setns", "userfaultfd"} <= set(denied["names"])


def test_an_image_with_downloads_of_its_own_needs_neither_network_nor_ours(tmp_path: Path) -> None:
    engine = fake(tmp_path, "docker", "echo '[]'", 'echo "$@"')
    engine.write_text(engine.read_text("utf-8").replace("esac", "image) echo /opt/x/downloads;;\nesac"), "utf-8")
    done = start(tmp_path, engine, "--", "true")
    assert done.returncode == 0 and "with the downloads of the image (/opt/x/downloads)" in done.stderr
    assert "--network=none" in done.stdout.split() and not (tmp_path / "downloads").exists()
    assert (tmp_path / "home" / ".bazelrc").read_text("utf-8") == "common --repository_cache=/opt/x/downloads\n"


def test_a_full_repository_cache_means_no_network_and_a_lack_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = in_container.pins(REPO, PYTHON)
    absent = in_container.missing(wanted, tmp_path)
    assert absent == wanted
    assert in_container.network("auto", absent, tmp_path) == []
    said = capsys.readouterr().err
    assert f"{len(wanted)} pinned file(s)" in said and wanted[0].file in said and "NETWORK=none" in said
    for pin in wanted:
        path = tmp_path / "content_addressable" / "sha256" / pin.sha256 / "file"
        path.parent.mkdir(parents=True)
        path.touch()
    assert in_container.network("auto", in_container.missing(wanted, tmp_path), tmp_path) == ["--network=none"]
    assert in_container.network("none", absent, tmp_path) == ["--network=none"]
    assert capsys.readouterr().err == ""


def test_checkout_and_cache_lie_where_they_lie_outside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (tmp_path / "d").mkdir()
    words = in_container.command_line(PLAIN, "i", home, ["--network=none"], tmp_path / "d", "make")
    for path in (REPO, home, tmp_path / "d"):
        assert f"--volume={path}:{path}" in words
    assert f"--env=HOME={home}" in words and words[-4:] == ["i", "bash", "-c", "make"]
    assert (home / ".bazelrc").read_text("utf-8") == f"common --repository_cache={tmp_path / 'd'}\n"
    assert f":x:{os.getuid()}:" in (home / "passwd").read_text("utf-8")
    assert not [word for word in words if "pip.conf" in word or "sources.list" in word], "of no use without a network"


def test_with_a_network_packages_come_from_where_this_machine_takes_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.conf").touch()
    monkeypatch.setattr(in_container, "SOURCES", (str(tmp_path / "pip.conf"), str(tmp_path / "none.list")))
    words = in_container.command_line(PLAIN, "i", tmp_path / "home", [], tmp_path / "d", "make")
    assert f"--volume={tmp_path}/pip.conf:{tmp_path}/pip.conf:ro" in words
    assert not [word for word in words if "none.list" in word or word.startswith("--network")]


def test_the_user_s_own_bazel_is_not_asked_for_when_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    name = pwd.getpwuid(os.getuid()).pw_name
    assert in_container.repository_cache().parts[-4:] == (f"_bazel_{name}", "cache", "repos", "v1")
