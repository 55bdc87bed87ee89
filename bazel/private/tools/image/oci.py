"""Puts layers together: config, manifest, attached documents, and one archive that is an OCI layout and loads with
`docker load` alike.

The archive is written in one pass. Nothing in it depends on the machine or the clock; every date is the epoch.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bazel.private.tools.image import documents, layer
from bazel.private.tools.image.blobs import Blob, blob_of, canonical
from bazel.private.tools.image.errors import ImageError, written
from bazel.private.tools.image.tarball import FileSink, Stream, file, write_tar

MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
EMPTY = b"{}"
#: Where the runtime looks for NVIDIA's libraries besides its own folder and the system's.
HOST_FOLDER = "/usr/local/tensorrt/lib"
_BUNDLE_MAGIC = b"TRTMCBDL"


@dataclass
class Archive:
    """The blobs of an image on their way into one file."""

    members: dict[str, bytes | Path | Stream] = field(default_factory=dict)

    def put(self, data: bytes) -> Blob:
        """Adds bytes at hand."""
        blob = blob_of(data)
        self.members[blob.hex] = data
        return blob


def _descriptor(media_type: str, blob: Blob, **more: Any) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": blob.digest, "size": blob.size, **more}


def bundle_id(path: Path) -> str:
    """The id of a bundle: the SHA-256 of its header, which stands in its preamble."""
    with open(path, "rb") as handle:
        preamble = handle.read(56)
    if len(preamble) != 56 or preamble[:8] != _BUNDLE_MAGIC:
        raise ImageError("image.bad_bundle", f"{path} is no bundle: it does not begin with {_BUNDLE_MAGIC.decode()}")
    return preamble[24:].hex()


def source_digest(paths: list[str]) -> str:
    """One digest over names and contents of all sources, each counted once; "" where there are none."""
    if not paths:
        return ""
    total: dict[str, str] = {}
    for path in paths:
        total.update(json.loads(Path(path).read_text("utf-8")))
    return blob_of("".join(f"{sha256}  {name}\n" for name, sha256 in sorted(total.items())).encode()).hex


def _stamp_labels(path: str | None) -> dict[str, str]:
    """Labels of a stamped build: the commit, from Bazel's stable status file."""
    rows = [line.split(" ", 1) for line in Path(path).read_text("utf-8").splitlines()] if path else []
    status = {row[0]: row[1] for row in rows if len(row) == 2}
    commit = status.get("STABLE_GIT_COMMIT")
    return {"org.opencontainers.image.revision": commit} if commit else {}


def host_library(target: dict[str, Any]) -> str:
    """The library of NVIDIA's that a target needs and images do not hold: its name, version and a folder for it."""
    name = {"tensorrt_rtx": "libtensorrt_rtx", "tensorrt": "libnvinfer"}.get(target["compiler"])
    version = target["compiler_version"]
    return f"{name}.so.{version.partition('.')[0]} of version {version} in {HOST_FOLDER}" if name else ""


def _target_labels(target: dict[str, Any]) -> dict[str, str]:
    compiler = "tensorrt" if target["compiler"].startswith("tensorrt") else target["compiler"]
    labels = {
        "io.trtmc.target": target["name"],
        "io.trtmc.compiler": target["compiler"],
        f"io.trtmc.{compiler}.version": target["compiler_version"],
    }
    if target.get("cuda_version"):
        labels["io.trtmc.cuda.version"] = target["cuda_version"]
    if target.get("compute_capability"):
        labels["io.trtmc.compute_capability"] = target["compute_capability"]
    return labels


def labels_of(
    spec: dict[str, Any], target: dict[str, Any] | None, source: str, layers: list[dict[str, Any]]
) -> dict[str, str]:
    """Every label of the image."""
    held = [package["purl"] for row in layers for package in row["packages"]]
    inside = any(purl.startswith("pkg:pypi/tensorrt") for purl in held)
    library = host_library(target) if target and not inside else ""
    labels = (
        dict(spec["labels"])
        | ({"io.trtmc.host_library": library} if library else {})
        | (_target_labels(target) if target else {})
        | _stamp_labels(spec["stamp"])
    )
    labels["org.opencontainers.image.version"] = spec["version"]
    if source:
        labels["io.trtmc.source.sha256"] = source
    if spec["bundle"]:
        labels["io.trtmc.bundle.id"] = bundle_id(Path(spec["bundle"]))
    return labels


def _config(spec: dict[str, Any], descriptors: list[dict[str, Any]], labels: dict[str, str]) -> bytes:
    return canonical(
        {
            "architecture": spec["architecture"],
            "os": "linux",
            "created": documents.EPOCH,
            "config": {**{key: value for key, value in spec["config"].items() if value}, "Labels": labels},
            "rootfs": {"type": "layers", "diff_ids": [row["diff_id"] for row in descriptors]},
            "history": [{"created": documents.EPOCH, "created_by": f"layer {row['name']}"} for row in descriptors],
        }
    )


def _attach(archive: Archive, subject: dict[str, Any], media_type: str, document: dict[str, Any]) -> dict[str, Any]:
    """A document as an artifact that refers to the image by digest; returns its descriptor for the index."""
    content = archive.put(canonical(document))
    empty = archive.put(EMPTY)
    manifest = canonical(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "artifactType": media_type,
            "config": _descriptor(EMPTY_TYPE, empty, data="e30="),
            "layers": [_descriptor(media_type, content)],
            "subject": subject,
        }
    )
    return _descriptor(MANIFEST_TYPE, archive.put(manifest), artifactType=media_type)


def _add_layers(archive: Archive, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    descriptors = []
    for row in rows:
        descriptor = json.loads(Path(row["descriptor"]).read_text("utf-8"))
        descriptors.append(descriptor)
        key = descriptor["digest"].removeprefix("sha256:")
        if row["blob"]:
            archive.members[key] = Path(row["blob"])
        else:
            manifest = json.loads(Path(row["manifest"]).read_text("utf-8"))
            archive.members[key] = Stream(descriptor["size"], partial(layer.stream, manifest))
    return descriptors


def _image(spec: dict[str, Any], archive: Archive) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Fills the archive; returns its top-level files and the record of digests."""
    target = json.loads(Path(spec["target_info"]).read_text("utf-8")) if spec["target_info"] else None
    source = source_digest(spec["sources"])
    descriptors = _add_layers(archive, spec["layers"])
    labels = labels_of(spec, target, source, descriptors)
    config = archive.put(_config(spec, descriptors, labels))
    tag = f"{spec['version']}-{target['name']}" if target else spec["version"]
    manifest = canonical(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": _descriptor(CONFIG_TYPE, config),
            "layers": [{key: row[key] for key in ("mediaType", "digest", "size")} for row in descriptors],
            "annotations": {key: value for key, value in labels.items() if key.startswith("org.opencontainers.")},
        }
    )
    blob = archive.put(manifest)
    subject = documents.Subject(spec["repository"], tag, spec["version"], blob.digest, spec["architecture"])
    materials = documents.materials_of(descriptors)
    if spec["bundle"]:
        bundle = labels["io.trtmc.bundle.id"]
        materials.append(documents.Material("bundle", bundle, f"pkg:generic/trtmc-bundle@{bundle}", layer="bundle"))
    image = _descriptor(MANIFEST_TYPE, blob)
    attached = [
        _attach(archive, image, documents.SPDX_TYPE, documents.spdx(subject, materials)),
        _attach(
            archive,
            image,
            documents.STATEMENT_TYPE,
            documents.provenance(subject, spec["label"], target, source, materials),
        ),
    ]
    name = f"{spec['repository']}:{tag}"
    named = {
        **image,
        "annotations": {
            "org.opencontainers.image.ref.name": tag,
            # Engines that keep images in containerd show a tag only if it is spelled out like this; nothing is fetched.
            "io.containerd.image.name": f"docker.io/library/{name}",
        },
        "platform": {"architecture": spec["architecture"], "os": "linux"},
    }
    layers = ["blobs/sha256/" + row["digest"].removeprefix("sha256:") for row in descriptors]
    top = {
        "oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
        "index.json": canonical({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [named, *attached]}),
        "manifest.json": canonical([{"Config": f"blobs/sha256/{config.hex}", "RepoTags": [name], "Layers": layers}]),
    }
    record = {
        "name": name,
        "manifest": blob.digest,
        "config": config.digest,
        "layers": [{key: row[key] for key in ("name", "digest", "diff_id", "size", "unpacked")} for row in descriptors],
        "sbom": attached[0]["digest"],
        "provenance": attached[1]["digest"],
    }
    return top, record


def make(spec_path: Path, archive_path: Path, record_path: Path) -> None:
    """Writes the archive and the record of its digests."""
    archive = Archive()
    top, record = _image(json.loads(spec_path.read_text("utf-8")), archive)
    members = {f"blobs/sha256/{key}".encode(): file(content) for key, content in archive.members.items()}
    members |= {name.encode(): file(data) for name, data in top.items()}
    with written(archive_path) as temporary, open(temporary, "wb") as handle:
        write_tar(members, FileSink(handle))
    with written(record_path) as temporary:
        temporary.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
