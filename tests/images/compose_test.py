"""compose.yaml and kubernetes.yaml: they say the same, and what compose.yaml says runs in a real engine, healthy or
not as the bundle is.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import docker
import pytest
import yaml

from tests.images.archives import BUNDLE, ROOT, RUNTIME
from tests.images.services import Engine

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
