"""oci-4: one archive, every way into a registry: the digests that the build stated are the ones that arrive."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.images.archives import LLAMA, ORAS, RUNTIME, Archive
from tests.images.services import Engine, free_port, program

ARCHIVES = pytest.mark.parametrize("archive", [RUNTIME, LLAMA], ids=["runtime", "llama"])


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words[0]} failed:\n{done.stderr}"
    return done.stdout


def oras(*words: object) -> str:
    return run(ORAS, *words)


def raw(source: str) -> dict[str, Any]:
    return dict(json.loads(run(program("skopeo"), "inspect", "--raw", "--tls-verify=false", source)))


def remote_digest(address: str, archive: Archive) -> str:
    words = ["inspect", "--tls-verify=false", "--format={{.Digest}}", f"docker://{address}/{archive.name}"]
    return run(program("skopeo"), *words).strip()


@ARCHIVES
def test_oci_4_skopeo_reads_archive_and_folder_alike(archive: Archive, tmp_path: Path) -> None:
    layout = archive.unpack(tmp_path / "layout")
    manifest = archive.manifest
    assert raw(f"oci-archive:{archive.path}:{archive.tag}") == manifest
    assert raw(f"oci:{layout}:{archive.tag}") == manifest
    seen = raw(f"docker-archive:{archive.path}:{archive.name}")
    assert seen["config"]["digest"] == archive.config_digest


@ARCHIVES
def test_oci_4_every_way_of_pushing_keeps_the_digest(archive: Archive, registry: str, tmp_path: Path) -> None:
    layout = archive.unpack(tmp_path / "layout")
    skopeo = [program("skopeo"), "copy", "-q", "--insecure-policy", "--dest-tls-verify=false", "--preserve-digests"]
    for number, source in enumerate((f"oci-archive:{archive.path}", f"oci:{layout}")):
        run(*skopeo, f"{source}:{archive.tag}", f"docker://{registry}/way{number}/{archive.name}")
        assert remote_digest(f"{registry}/way{number}", archive) == archive.image["digest"]
        assert raw(f"docker://{registry}/way{number}/{archive.name}") == archive.manifest
    oras(
        "cp", "-r", "--from-oci-layout", f"{layout}:{archive.tag}", "--to-plain-http", f"{registry}/way2/{archive.name}"
    )
    assert remote_digest(f"{registry}/way2", archive) == archive.image["digest"]
    back = tmp_path / "back"
    words = [program("skopeo"), "copy", "-q", "--insecure-policy", "--src-tls-verify=false", "--preserve-digests"]
    by_digest = f"docker://{registry}/way2/{archive.name.partition(':')[0]}@{archive.image['digest']}"
    run(*words, by_digest, f"oci:{back}:{archive.tag}")
    assert raw(f"oci:{back}:{archive.tag}") == archive.manifest


def test_the_documents_travel_with_the_image_and_are_found_by_digest(registry: str, tmp_path: Path) -> None:
    layout = RUNTIME.unpack(tmp_path / "layout")
    target = f"{registry}/documents/{RUNTIME.name}"
    oras("cp", "-r", "--from-oci-layout", f"{layout}:{RUNTIME.tag}", "--to-plain-http", target)
    found = json.loads(oras("discover", "--plain-http", "--format=json", target))
    types = {row["artifactType"]: row["digest"] for row in found.get("manifests", found.get("referrers", []))}
    stated = {row["artifactType"]: row["digest"] for row in RUNTIME.read("index.json")["manifests"][1:]}
    assert types == stated and set(types) == {"application/spdx+json", "application/vnd.in-toto+json"}


@ARCHIVES
def test_oci_4_docker_pulls_by_digest_and_runs_what_was_pushed(archive: Archive, registry: str, engine: Engine) -> None:
    words = [program("skopeo"), "copy", "-q", "--insecure-policy", "--dest-tls-verify=false", "--preserve-digests"]
    run(*words, f"oci-archive:{archive.path}:{archive.tag}", f"docker://{registry}/pulled/{archive.name}")
    by_digest = f"{registry}/pulled/{archive.name.partition(':')[0]}@{archive.image['digest']}"
    image = engine.client.images.pull(by_digest)
    assert image.id == archive.config_digest
    assert by_digest in image.attrs["RepoDigests"]
    said = engine.client.containers.run(image.id, ["--version"], remove=True, network_mode="none", read_only=True)
    assert archive.tag.startswith(said.decode().strip())


def test_umoci_unpacks_it_as_an_independent_reader(tmp_path: Path) -> None:
    layout = RUNTIME.unpack(tmp_path / "layout")
    run(program("umoci"), "unpack", "--rootless", "--image", f"{layout}:{RUNTIME.tag}", tmp_path / "bundle")
    root = tmp_path / "bundle" / "rootfs"
    assert (root / "opt/trtmc/bin/trtmc").stat().st_mode & 0o777 == 0o755
    words = ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "--showformat=${Package} ${db:Status-Status}\n"]
    assert "libc6 installed" in run(*words).splitlines()
    assert (root / "etc/ssl/certs/ca-certificates.crt").read_text("utf-8").count("BEGIN CERTIFICATE") > 100
    assert "Debian" in (root / "etc/os-release").read_text("utf-8")


def test_a_registry_that_refuses_is_an_error_with_its_address(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    words = [program("skopeo"), "copy", "-q", "--insecure-policy", "--dest-tls-verify=false"]
    source = f"oci-archive:{RUNTIME.path}:{RUNTIME.tag}"
    done = subprocess.run([*words, source, f"docker://{address}/x:y"], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and address in done.stderr and "connection refused" in done.stderr
