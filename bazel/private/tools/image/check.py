"""Checks a finished archive as a stranger would: with Python's own tar reader, from the outside in.

Every blob is what its name says; config, manifest and layers agree; layers are sorted and name no user, no time and
no machine; the entry point is there, for
the image's architecture, and no shell; attached documents speak of this very image. Run on every image in every build.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from bazel.private.tools.image.errors import ImageError

_SHELLS = {"sh", "bash", "dash", "ash", "busybox", "zsh", "ksh"}
_ELF_MACHINES = {"amd64": 62, "arm64": 183}
_OWNERS = {(0, 0), (65532, 65532)}


def _complain(what: str, path: Path) -> ImageError:
    return ImageError(
        "image.check", f"{path}: {what}. What to do: build it again; if it stays, this is a bug of the image rules"
    )


@dataclass
class Contents:
    """What the layers add up to: names, where links lead, the first bytes of files that may be programs."""

    links: dict[str, str] = field(default_factory=dict)
    heads: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def drop(self, name: str) -> None:
        """Forgets a path and all below it."""
        for table in (self.links, self.heads):
            for known in [key for key in table if key == name or key.startswith(name + "/")]:
                del table[known]
        self.folders = {key for key in self.folders if key != name and not key.startswith(name + "/")}

    def resolve(self, path: str, depth: int = 0) -> str:
        """Follows links inside the image, folder by folder."""
        at = ""
        for part in filter(None, path.split("/")):
            step = f"{at}/{part}" if at else part
            target = self.links.get(step)
            if target is not None and depth < 20:
                base = target if target.startswith("/") else f"{at}/{target}"
                step = self.resolve(_normal(base), depth + 1)
            at = step
        return at


def _normal(path: str) -> str:
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


class Image:
    """An archive opened for checking."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tar = tarfile.open(path)
        self.members = {member.name: member for member in self._tar}

    def open(self, name: str) -> IO[bytes]:
        """A member's content."""
        member = self.members.get(name)
        content = self._tar.extractfile(member) if member else None
        if content is None:
            raise _complain(f"has no file {name}", self.path)
        return content

    def json(self, name: str) -> Any:
        """A member that is JSON."""
        return json.load(self.open(name))

    def blob(self, descriptor: dict[str, Any]) -> str:
        """The member of a descriptor; its size must be the stated one."""
        name = "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")
        member = self.members.get(name)
        if member is None or member.size != descriptor["size"]:
            found = "it is missing" if member is None else f"it has {member.size}"
            raise _complain(f"{name} should have {descriptor['size']} bytes, but {found}", self.path)
        return name


class _Hashed:
    """A content that is hashed while someone reads it, so that each byte is read once."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._hash = hashlib.sha256()

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes."""
        chunk = self._content.read(size)
        self._hash.update(chunk)
        return chunk

    def digest(self) -> str:
        """The digest of all, after the rest was read too."""
        while self.read(1 << 20):
            pass
        return "sha256:" + self._hash.hexdigest()


def _check_digest(name: str, found: str, image: Image) -> None:
    if name != "blobs/sha256/" + found.removeprefix("sha256:"):
        raise _complain(f"{name} has another content than its name says", image.path)


def check_blobs(image: Image, layers: set[str]) -> None:
    """Every blob has the digest that its name says; layers are compared later, in the pass that looks through them."""
    names = list(image.members)
    if [name.encode() for name in names] != sorted(name.encode() for name in names):
        raise _complain("its members are not in order", image.path)
    for name, member in image.members.items():
        if member.isfile() and name.startswith("blobs/sha256/") and name not in layers:
            _check_digest(name, _Hashed(image.open(name)).digest(), image)


def _check_member(member: tarfile.TarInfo, where: str, path: Path) -> None:
    if member.mtime != 0 or member.uname or member.gname or (member.uid, member.gid) not in _OWNERS:
        raise _complain(f"/{member.name} in {where} carries a time or an owner of the machine that built it", path)
    if member.name.startswith("/") or ".." in member.name.split("/"):
        raise _complain(f"{where} has the path {member.name!r}", path)


def check_layer(image: Image, descriptor: dict[str, Any], diff_id: str, contents: Contents) -> None:
    """One layer: its digest and diff_id, the order and the owners of its members; adds it to the contents.

    Its bytes are read and unpacked once, whatever their number.
    """
    where = f"layer {descriptor['digest'][:19]}"
    name = image.blob(descriptor)
    packed = _Hashed(image.open(name))
    try:
        if descriptor["mediaType"].endswith("+gzip"):
            content = _Hashed(gzip.GzipFile(fileobj=packed))  # type: ignore[arg-type]
        else:
            content = packed
        _check_members(content, where, image.path, contents)
        unpacked = content.digest()
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        _check_digest(name, packed.digest(), image)
        raise _complain(f"{where} cannot be read: {error}", image.path) from error
    _check_digest(name, packed.digest(), image)
    if unpacked != diff_id:
        raise _complain(f"{where} does not unpack to {diff_id}", image.path)


def _check_members(content: _Hashed, where: str, path: Path, contents: Contents) -> None:
    before = b""
    with tarfile.open(fileobj=content, mode="r|", bufsize=1 << 20) as tar:  # type: ignore[call-overload]
        for member in tar:
            _check_member(member, where, path)
            name = member.name.encode("utf-8", "surrogateescape")
            if name <= before:
                raise _complain(f"/{member.name} in {where} is out of order", path)
            before = name
            folder, _, base = member.name.rpartition("/")
            if base.startswith(".wh."):
                contents.drop(f"{folder}/{base[4:]}".lstrip("/"))
            elif member.issym():
                contents.links[member.name] = member.linkname
            elif member.isdir():
                contents.links.pop(member.name, None)
                contents.folders.add(member.name)
            elif member.isfile():
                contents.links.pop(member.name, None)
                file = tar.extractfile(member)
                contents.heads[member.name] = file.read(20) if file else b""


def _check_program(contents: Contents, config: dict[str, Any], path: Path, shell: bool) -> None:
    entry = config["config"].get("Entrypoint") or config["config"].get("Cmd") or [""]
    name = contents.resolve(_normal(entry[0]))
    head = contents.heads.get(name)
    if head is None:
        raise ImageError("image.no_entrypoint", f"{path}: the entry point {entry[0]!r} is in no layer")
    machine = int.from_bytes(head[18:20], "little") if head[:4] == b"\x7fELF" else None
    wanted = _ELF_MACHINES[config["architecture"]]
    if machine not in (None, wanted):
        raise ImageError(
            "image.wrong_architecture",
            f"{path}: /{name} is for ELF machine {machine}, the image for {config['architecture']} ({wanted}). "
            "What to do: build it with --platforms of the image's architecture",
        )
    shells = (
        []
        if shell
        else sorted(known for known in (*contents.heads, *contents.links) if known.rpartition("/")[2] in _SHELLS)
    )
    if shells:
        raise ImageError("image.shell", f"{path}: holds a shell, /{shells[0]}; images to run have none")
    if config["config"].get("User", "") in ("", "0", "root", "0:0"):
        raise ImageError("image.root", f"{path}: runs as root; set `user`")


def _check_loaders(image: Image, manifest: dict[str, Any], named: dict[str, Any]) -> None:
    """docker's manifest.json says the same as the OCI index."""
    (row,) = image.json("manifest.json")
    paths = ["blobs/sha256/" + layer["digest"].removeprefix("sha256:") for layer in manifest["layers"]]
    config = "blobs/sha256/" + manifest["config"]["digest"].removeprefix("sha256:")
    tag = named["annotations"]["org.opencontainers.image.ref.name"]
    if row["Layers"] != paths or row["Config"] != config or not row["RepoTags"][0].endswith(":" + tag):
        raise _complain("manifest.json and index.json name different images", image.path)


def check(path: Path, shell: bool = False) -> dict[str, Any]:
    """Checks an archive, which may hold a shell or not; returns a short report."""
    image = Image(path)
    named, *attached = image.json("index.json")["manifests"]
    manifest = image.json(image.blob(named))
    check_blobs(image, {image.blob(layer) for layer in manifest["layers"]})
    config = image.json(image.blob(manifest["config"]))
    _check_loaders(image, manifest, named)
    diff_ids = config["rootfs"]["diff_ids"]
    if len(diff_ids) != len(manifest["layers"]):
        raise _complain(f"{len(manifest['layers'])} layers, but {len(diff_ids)} diff_ids", path)
    contents = Contents()
    for descriptor, diff_id in zip(manifest["layers"], diff_ids, strict=True):
        check_layer(image, descriptor, diff_id, contents)
    _check_program(contents, config, path, shell)
    for artifact in attached:
        subject = image.json(image.blob(artifact))["subject"]
        if subject["digest"] != named["digest"]:
            raise _complain(f"the attached {artifact['artifactType']} speaks of {subject['digest']}", path)
    return {
        "manifest": named["digest"],
        "layers": len(diff_ids),
        "files": len(contents.heads),
        "compressed": sum(descriptor["size"] for descriptor in manifest["layers"]),
        "attached": sorted(artifact["artifactType"] for artifact in attached),
    }
