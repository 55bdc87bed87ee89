"""Every image in a real Docker engine: loaded, inspected, run without network, capabilities and writable files;
killed.
"""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
import time
from typing import Any

import docker
import pytest

from tests.images.archives import BUNDLE, LINKS, LLAMA, PROGRAM, ROOT, RUNTIME, Archive, runtimes
from tests.images.services import Engine
from trtmc.e2e.goldens import load_golden
from trtmc.e2e.manifest import load_manifest

LOCKED_DOWN: dict[str, Any] = {
    "network_mode": "none",
    "read_only": True,
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges"],
}
MANIFEST = load_manifest(ROOT / "families" / "llama" / "e2e" / "smollm2_135m_instruct.toml")
CASE = next(case for case in MANIFEST.cases if case.text)
#: Transformers' own answer: the container must give these ids.
ORACLE = load_golden(MANIFEST.golden).case(CASE.name).turns[0]
TOKENS = 12


def load(engine: Engine, archive: Archive) -> docker.models.images.Image:
    with open(archive.path, "rb") as handle:
        (image,) = engine.client.images.load(handle)
    return image


def ask(bundle: str) -> list[str]:
    return ["run", bundle, "-p", str(CASE.text), "-n", str(TOKENS), "--temperature", "0", "--ignore-eos", "--json"]


def answer(engine: Engine, image: str, bundle: str, **more: Any) -> list[int]:
    output = engine.client.containers.run(image, ask(bundle), remove=True, stderr=False, **LOCKED_DOWN, **more)
    return list(json.loads(output)["ids"])


@pytest.mark.parametrize("archive", [*runtimes(), RUNTIME, LLAMA, LINKS], ids=lambda archive: archive.path.stem)
def test_every_image_loads_under_its_tag_with_the_digest_of_the_build(engine: Engine, archive: Archive) -> None:
    image = load(engine, archive)
    assert image.tags == [archive.name]
    assert image.id == archive.config_digest
    config = image.attrs["Config"]
    labels = config["Labels"]
    assert archive.tag == f"{labels['org.opencontainers.image.version']}-{labels['io.trtmc.target']}"
    assert config["User"] == "65532:65532"
    assert image.attrs["Architecture"] == "amd64" and image.attrs["Os"] == "linux"
    assert image.attrs["Created"].startswith("1970-01-01T00:00:00")


def test_every_target_has_an_image_that_says_what_it_is_for() -> None:
    targets = json.loads((ROOT / "python" / "trtmc" / "core" / "targets.json").read_text("utf-8"))
    known = {row["name"] for row in targets} if isinstance(targets, list) else set(targets.get("targets", targets))
    assert {archive.path.stem for archive in runtimes()} == known
    for archive in runtimes():
        labels = archive.blob(archive.config_digest)["config"]["Labels"]
        assert labels["io.trtmc.target"] == archive.path.stem
        assert len(labels["io.trtmc.source.sha256"]) == 64
        if labels["io.trtmc.compiler"] == "openvino":
            assert "io.trtmc.openvino.version" in labels and "io.trtmc.missing" not in labels
        else:
            assert "io.trtmc.tensorrt.version" in labels and "io.trtmc.cuda.version" in labels
            assert labels["io.trtmc.host_library"].endswith(" in /usr/local/tensorrt/lib")


def test_images_are_as_small_as_promised() -> None:
    for archive in runtimes():
        size = sum(layer["size"] for layer in archive.manifest["layers"])
        limit = 60_000_000 if archive.path.stem == "cpu_x86_64" else 200_000_000
        assert size < limit, f"{archive.path.stem}: {size}"


def test_all_targets_share_their_layers() -> None:
    assert len({tuple(layer["digest"] for layer in archive.manifest["layers"]) for archive in runtimes()}) == 1
    assert len({archive.image["digest"] for archive in runtimes()}) == len(runtimes())


def test_the_image_with_a_bundle_answers_as_the_oracle(engine: Engine) -> None:
    load(engine, LLAMA)
    ids = answer(engine, LLAMA.name, "/bundles/llama.bundle")
    assert ids == list(ORACLE.greedy_ids[:TOKENS])


def test_the_runtime_answers_from_a_mounted_bundle_as_the_host_does(engine: Engine) -> None:
    load(engine, RUNTIME)
    bundle = BUNDLE.resolve()
    mount = {str(bundle): {"bind": "/bundles/my.bundle", "mode": "ro"}}
    ids = answer(engine, RUNTIME.name, "/bundles/my.bundle", volumes=mount)
    done = subprocess.run([PROGRAM.resolve(), *ask(str(bundle))], capture_output=True, check=True)
    assert ids == json.loads(done.stdout)["ids"] == list(ORACLE.greedy_ids[:TOKENS])


def test_a_missing_bundle_is_an_error_with_its_exit_code(engine: Engine) -> None:
    load(engine, RUNTIME)
    with pytest.raises(docker.errors.ContainerError) as caught:
        engine.client.containers.run(RUNTIME.name, ["inspect", "/bundles/none.bundle"], remove=True, **LOCKED_DOWN)
    assert caught.value.exit_status == 3 and b"/bundles/none.bundle" in caught.value.stderr


def test_there_is_no_shell(engine: Engine) -> None:
    load(engine, RUNTIME)
    for shell in ("sh", "/bin/sh", "bash"):
        with pytest.raises(docker.errors.APIError, match=r"(executable file not found|no such file)"):
            engine.client.containers.run(RUNTIME.name, [], entrypoint=[shell], remove=True, network_mode="none")


def test_a_killed_container_leaves_nothing(engine: Engine) -> None:
    load(engine, LLAMA)
    before = {path.name for path in (engine.root / "data" / "overlay2").glob("*")} if _overlay(engine) else set()
    words = ["run", "/bundles/llama.bundle", "-p", "Once", "-n", "1500", "--ignore-eos", "--temperature", "0"]
    container = engine.client.containers.run(LLAMA.name, words, detach=True, **LOCKED_DOWN)
    end = time.monotonic() + 60
    while not container.logs(stdout=True, stderr=False) and time.monotonic() < end:
        time.sleep(0.2)
    assert container.logs(stdout=True, stderr=False), "it never began to answer"
    pid = container.attrs["State"]["Pid"] or engine.client.api.inspect_container(container.id)["State"]["Pid"]
    container.kill()
    assert container.wait()["StatusCode"] == 137
    assert container.diff() in (None, []), "files were written"
    container.remove()
    assert not [c for c in engine.client.containers.list(all=True) if c.id == container.id]
    assert subprocess.run(["kill", "-0", str(pid)], capture_output=True, check=False).returncode != 0
    if _overlay(engine):
        assert {path.name for path in (engine.root / "data" / "overlay2").glob("*")} == before


def _overlay(engine: Engine) -> bool:
    return engine.client.info()["Driver"] == "overlay2"


def test_a_stopped_container_ends_by_itself(engine: Engine) -> None:
    """`docker stop` sends the image's stop signal: the program is process 1, which hears only what it listens to."""
    load(engine, LLAMA)
    words = ["run", "/bundles/llama.bundle", "-p", "Once", "-n", "1500", "--ignore-eos", "--temperature", "0"]
    container = engine.client.containers.run(LLAMA.name, words, detach=True, init=False, **LOCKED_DOWN)
    while not container.logs(stdout=True, stderr=False):
        time.sleep(0.2)
    container.stop(timeout=50)
    assert container.wait()["StatusCode"] == 130, "137: it had to be killed"
    container.remove()


def test_oci_2_links_and_whiteouts_as_overlayfs_sees_them(engine: Engine) -> None:
    load(engine, LINKS)
    container = engine.client.containers.create(LINKS.name, network_mode="none")
    try:
        tar = tarfile.open(fileobj=io.BytesIO(b"".join(container.export())))
    finally:
        container.remove()
    found = {member.name: member for member in tar}
    assert found["opt/real/keep"].isfile() and found["link/new.txt"].isfile()
    assert found["link"].isdir() and "dead" not in found
    assert found["absolute"].issym() and found["absolute"].linkname == "/etc/hostname"
    assert "opt/real/new.txt" not in found, "the link was followed"
