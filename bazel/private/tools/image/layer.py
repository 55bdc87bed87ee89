"""A layer from its manifest, which the rule writes:

    {"name": "runtime", "architecture": "amd64", "compression": "gzip",
     "files": [{"path": "opt/x/bin/x", "source": "bazel-out/...", "mode": "0755"}],
     "trees": [{"path": "data", "source": "folder"}],
     "directories": {"tmp": "1777"}, "symlinks": {"link": "/opt/real"}, "removed": ["dead"],
     "debs": {"files": [...], "lock": [...]}, "packages": ["pkg:pypi/openvino@2026.4.1"],
     "bazel": {"files": [...], "lock_file": "x.lock", "prefix": "opt/bazel", "options": ["common --x"]}}

It gives a descriptor: digest, size, diff_id, media type, packages. With `"compression": "none"` there is no blob
file: the layer is the plain tar, so the
archive writer can stream it, and a big layer costs one hashing and one write.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bazel.private.tools.image import bazel_install, debs
from bazel.private.tools.image.blobs import Gzip, Hashing, canonical
from bazel.private.tools.image.errors import ImageError, written
from bazel.private.tools.image.tarball import Entry, Sink, directory, file, symlink, write_tar

MEDIA_TYPES = {
    "gzip": "application/vnd.oci.image.layer.v1.tar+gzip",
    "none": "application/vnd.oci.image.layer.v1.tar",
}
Manifest = dict[str, Any]
_CHECKSUM = "checksum=sha256:"


def _put(entries: dict[bytes, Entry], path: str | bytes, entry: Entry) -> None:
    key = path if isinstance(path, bytes) else path.encode()
    if key in entries:
        raise ImageError("image.path_twice", f"two files want to be /{key.decode('utf-8', 'replace')} in one layer")
    entries[key] = entry


def _add_tree(entries: dict[bytes, Entry], at: str, source: str) -> None:
    """A folder of this machine; names are bytes, whatever the locale."""
    root = os.fsencode(source)
    for folder, names, files in os.walk(root):
        # Bazel hands over links to files; a folder behind a link is content all the same.
        inside = os.path.relpath(folder, root)
        prefix = at.encode() if inside == b"." else at.encode() + b"/" + inside
        if not names and not files:
            _put(entries, prefix, directory())
        for name in files:
            _put(entries, prefix + b"/" + name, file(Path(os.fsdecode(os.path.join(folder, name)))))


def entries_of(manifest: Manifest) -> tuple[dict[bytes, Entry], list[debs.Package]]:
    """Everything that the layer holds, and the Debian packages among it."""
    entries: dict[bytes, Entry] = {}
    packages: list[debs.Package] = []
    if wanted := manifest.get("debs"):
        unpacked = debs.unpack([Path(name) for name in wanted["files"]], wanted["lock"], manifest["architecture"])
        entries.update(debs.system_files(unpacked))
        packages = unpacked.packages
    if wanted := manifest.get("bazel"):
        entries, packages = bazel_install.install(wanted, manifest["architecture"])
    for row in manifest.get("files", []):
        _put(entries, row["path"], file(Path(row["source"]), int(row["mode"], 8)))
    for row in manifest.get("trees", []):
        _add_tree(entries, row["path"], row["source"])
    for path, mode in manifest.get("directories", {}).items():
        _put(entries, path, directory(int(mode, 8)))
    for path, target in manifest.get("symlinks", {}).items():
        _put(entries, path, symlink(target.encode()))
    for path in manifest.get("removed", []):
        folder, _, name = path.rpartition("/")
        _put(entries, f"{folder}/.wh.{name}".lstrip("/"), file(b""))
    return entries, packages


def _package_urls(packages: list[debs.Package]) -> list[dict[str, str]]:
    return [
        {
            "name": package.name,
            "version": package.version,
            "sha256": package.sha256,
            "purl": f"pkg:deb/debian/{package.name}@{package.version}?arch={package.architecture}",
        }
        for package in sorted(packages, key=lambda package: package.name)
    ]


def _declared(purls: list[str]) -> list[dict[str, str]]:
    """What the rule says is inside; the qualifier `checksum` of a package URL becomes the digest of that row."""
    rows = []
    for purl in sorted(purls):
        plain, _, qualifiers = purl.partition("?")
        name, _, version = plain.rpartition("/")[2].partition("@")
        words = qualifiers.split("&") if qualifiers else []
        others = "&".join(word for word in words if not word.startswith(_CHECKSUM))
        row = {"name": name, "version": version, "purl": f"{plain}?{others}" if others else plain}
        for word in words:
            if word.startswith(_CHECKSUM):
                row["sha256"] = word.removeprefix(_CHECKSUM)
        rows.append(row)
    return rows


def stream(manifest: Manifest, sink: Sink) -> None:
    """Writes the layer's tar."""
    write_tar(entries_of(manifest)[0], sink)


def make(manifest_path: Path, descriptor_path: Path, blob_path: Path | None) -> None:
    """Writes the descriptor and, for a compressed layer, the blob."""
    manifest: Manifest = json.loads(manifest_path.read_text("utf-8"))
    entries, packages = entries_of(manifest)
    compression = manifest["compression"]
    if blob_path is None:
        diff = Hashing()
        write_tar(entries, diff)
        blob = diff.blob()
    else:
        with written(blob_path) as temporary, open(temporary, "wb") as handle:
            packed = Hashing(handle)
            gzip = Gzip(packed)
            diff = Hashing(gzip)
            write_tar(entries, diff)
            gzip.close()
            handle.flush()
            blob = packed.blob()
    descriptor = {
        "name": manifest["name"],
        "mediaType": MEDIA_TYPES[compression],
        "digest": blob.digest,
        "size": blob.size,
        "diff_id": diff.blob().digest,
        "unpacked": diff.blob().size,
        "packages": _package_urls(packages) + _declared(manifest.get("packages", [])),
    }
    with written(descriptor_path) as temporary:
        temporary.write_bytes(canonical(descriptor) + b"\n")
