"""What the tests of this folder share: Debian packages made by hand, layers and images in a folder of their own."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from bazel.private.tools.image import layer, oci

#: An ELF header for x86-64 (machine 62), as much of it as anyone here reads.
ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0\x3e\0"


def _tar_xz(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo("./" + name)
            info.size, info.mtime, info.uname, info.uid = len(content), 1_700_000_000, "builder", 1000
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def _ar(members: dict[str, bytes]) -> bytes:
    out = b"!<arch>\n"
    for name, content in members.items():
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + b"\n" * (len(content) % 2)
    return out


def make_deb(folder: Path, name: str, files: dict[str, bytes], arch: str = "amd64") -> tuple[Path, str]:
    """A package of version 1-1; returns its file and its line of a lock."""
    control = f"Package: {name}\nVersion: 1-1\nArchitecture: {arch}\nDescription: made by a test\n".encode()
    data = _ar(
        {"debian-binary": b"2.0\n", "control.tar.xz": _tar_xz({"control": control}), "data.tar.xz": _tar_xz(files)}
    )
    path = folder / f"{name}_1-1_{arch}.deb"
    path.write_bytes(data)
    return path, f"{hashlib.sha256(data).hexdigest()}  {name}  1-1  {arch}  trixie"


def make_layer(folder: Path, name: str, compression: str = "gzip", **manifest: Any) -> dict[str, Any]:
    """A layer as the rule makes it; returns its row of an image spec."""
    files = {what: folder / f"{name}.{what}" for what in ("manifest", "descriptor", "blob")}
    content = {"name": name, "architecture": "amd64", "compression": compression, **manifest}
    files["manifest"].write_text(json.dumps(content), "utf-8")
    blob = files["blob"] if compression == "gzip" else None
    layer.make(files["manifest"], files["descriptor"], blob)
    return {
        "descriptor": str(files["descriptor"]),
        "manifest": str(files["manifest"]),
        "blob": str(blob) if blob else None,
    }


def make_program(folder: Path, content: bytes = ELF) -> dict[str, Any]:
    """A layer with the entry point /bin/app."""
    (folder / "app").write_bytes(content)
    return make_layer(folder, "program", files=[{"path": "bin/app", "source": str(folder / "app"), "mode": "0755"}])


def make_image(
    folder: Path, layers: list[dict[str, Any]], name: str = "image", **changes: Any
) -> tuple[Path, dict[str, Any]]:
    """An image for sm_89; returns the archive and the record of its digests."""
    target = {
        "name": "sm_89",
        "compiler": "tensorrt_rtx",
        "compiler_version": "1.7",
        "cuda_version": "13.0",
        "compute_capability": "8.9",
    }
    (folder / "target.json").write_text(json.dumps(target), "utf-8")
    spec = {
        "architecture": "amd64",
        "bundle": None,
        "config": {"Entrypoint": ["/bin/app"], "Cmd": [], "Env": ["A=1"], "User": "65532:65532", "WorkingDir": "/"},
        "label": "//x:y",
        "labels": {"org.opencontainers.image.title": "x"},
        "layers": layers,
        "repository": "x",
        "sources": [],
        "stamp": None,
        "target_info": str(folder / "target.json"),
        "version": "1.2",
    } | changes
    (folder / f"{name}.spec").write_text(json.dumps(spec), "utf-8")
    archive, record = folder / f"{name}.tar", folder / f"{name}.digests.json"
    oci.make(folder / f"{name}.spec", archive, record)
    return archive, json.loads(record.read_text("utf-8"))
