"""compose.yaml and kubernetes.yaml: they say the same; Compose itself takes compose.yaml and starts it in a real
engine; and what it says is healthy or not as the bundle is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from tests.images.archives import BUNDLE, ROOT, RUNTIME
from tests.images.services import Engine

COMPOSE = ROOT / os.environ.get("TRTMC_COMPOSE", "docker-compose")
SERVICE: dict[str, Any] = yaml.safe_load((ROOT / "containers" / "compose.yaml").read_text("utf-8"))["services"]["trtmc"]
POD: dict[str, Any] = yaml.safe_load((ROOT / "containers" / "kubernetes.yaml").read_text("utf-8"))["spec"]["template"]
CONTAINER: dict[str, Any] = POD["spec"]["containers"][0]


def test_both_name_the_image_of_this_version_and_the_same_command() -> None:
    assert SERVICE["image"] == CONTAINER["image"] == RUNTIME.name
    assert SERVICE["command"] == CONTAINER["args"]


def test_both_ask_trtmc_verify_about_the_bundle_that_they_run() -> None:
    config = RUNTIME.blob(RUNTIME.config_digest)["config"]
    check = [*config["Entrypoint"], "verify", SERVICE["command"][1]]
    assert SERVICE["healthcheck"]["test"] == ["CMD", *check]
    assert CONTAINER["livenessProbe"]["exec"]["command"] == CONTAINER["startupProbe"]["exec"]["command"] == check


def test_both_take_every_right_away() -> None:
    rights = CONTAINER["securityContext"]
    assert SERVICE["read_only"] and rights["readOnlyRootFilesystem"]
    assert SERVICE["cap_drop"] == rights["capabilities"]["drop"] == ["ALL"]
    assert not rights["allowPrivilegeEscalation"] and SERVICE["security_opt"] == ["no-new-privileges:true"]
    user = POD["spec"]["securityContext"]
    assert f"{user['runAsUser']}:{user['runAsGroup']}" == RUNTIME.blob(RUNTIME.config_digest)["config"]["User"]


def compose(file: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Docker Compose on a file, with nothing of this machine's environment."""
    command = [str(COMPOSE), "-f", str(file), *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={"HOME": "/nonexistent"} | environment
    )


def test_compose_takes_it_and_refuses_what_is_misspelt(tmp_path: Path) -> None:
    file = ROOT / "containers" / "compose.yaml"
    done = compose(file, "config", "--quiet", BUNDLES=str(tmp_path))
    assert done.returncode == 0, done.stderr
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(file.read_text("utf-8").replace("read_only:", "readonly:"), "utf-8")
    done = compose(wrong, "config", "--quiet", BUNDLES=str(tmp_path))
    assert done.returncode != 0 and "readonly" in done.stderr


def test_compose_asks_for_the_folder_of_bundles() -> None:
    done = compose(ROOT / "containers" / "compose.yaml", "config", "--quiet")
    assert done.returncode != 0 and "name the folder that holds model.bundle" in done.stderr


def test_compose_starts_it_with_every_right_taken_away_and_removes_it(engine: Engine, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    shutil.copyfile(BUNDLE.resolve(), tmp_path / "model.bundle")
    (tmp_path / "model.bundle").chmod(0o644)
    with open(RUNTIME.path, "rb") as handle:
        engine.client.images.load(handle)
    file = (ROOT / "containers" / "compose.yaml").resolve()
    environment = {"DOCKER_HOST": f"unix://{engine.socket}", "BUNDLES": str(tmp_path)}
    try:
        done = compose(file, "up", "--detach", "--pull=never", **environment)
        assert done.returncode == 0, done.stderr
        container = engine.client.containers.get("trtmc-trtmc-1")  # as compose.yaml's first lines say
        host = container.attrs["HostConfig"]
        assert container.attrs["State"]["Running"], container.logs()
        assert host["ReadonlyRootfs"] and host["NetworkMode"] == "none" and host["CapDrop"] == ["ALL"]
        assert [(mount["Destination"], mount["RW"]) for mount in container.attrs["Mounts"]] == [("/bundles", False)]
    finally:
        done = compose(file, "down", "--timeout=20", **environment)
    assert done.returncode == 0, done.stderr
    with pytest.raises(docker.errors.NotFound):
        engine.client.containers.get("trtmc-trtmc-1")


def start(engine: Engine, bundles: Path) -> docker.models.containers.Container:
    """The service of compose.yaml, looked at more often than it says."""
    with open(RUNTIME.path, "rb") as handle:
        engine.client.images.load(handle)
    second = 1_000_000_000
    check = {"test": SERVICE["healthcheck"]["test"], "interval": second, "timeout": 60 * second, "retries": 2}
    return engine.client.containers.run(
        SERVICE["image"],
        SERVICE["command"],
        detach=True,
        stdin_open=SERVICE["stdin_open"],
        tty=SERVICE["tty"],
        read_only=SERVICE["read_only"],
        network_mode=SERVICE["network_mode"],
        cap_drop=SERVICE["cap_drop"],
        security_opt=SERVICE["security_opt"],
        mem_limit=SERVICE["mem_limit"],
        pids_limit=SERVICE["pids_limit"],
        volumes={str(bundles): {"bind": "/bundles", "mode": "ro"}},
        healthcheck=check,
    )


@pytest.mark.parametrize(("damaged", "expected"), [(False, "healthy"), (True, "unhealthy")])
def test_health_is_what_the_bundle_is(engine: Engine, tmp_path: Path, damaged: bool, expected: str) -> None:
    tmp_path.chmod(0o755)
    bundle = tmp_path / "model.bundle"
    shutil.copyfile(BUNDLE.resolve(), bundle)
    bundle.chmod(0o644)
    container = start(engine, tmp_path)
    try:
        if damaged:  # after it was opened, as a disk would
            with open(bundle, "r+b") as handle:
                handle.seek(-5000, 2)
                handle.write(b"damage")
        seen = ""
        end = time.monotonic() + 90
        while seen != expected and time.monotonic() < end:
            time.sleep(0.5)
            container.reload()
            seen = container.attrs["State"]["Health"]["Status"]
        assert seen == expected, container.attrs["State"]
        assert container.attrs["State"]["Running"]
    finally:
        container.remove(force=True)
