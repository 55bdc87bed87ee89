"""Reads Debian packages (.deb) into image entries. Each file is checked against its line of the lock. No package
script is run."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import posixpath
import re
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bazel.private.tools.image.errors import ImageError
from bazel.private.tools.image.tarball import Entry, Kind, directory, file, symlink

#: Documentation and what only an interactive system reads; licence texts stay.
_DROPPED = re.compile(
    r"usr/share/(doc/(?!.*/copyright$)|man/|info/|locale/|lintian/|bug/|doc-base/|gdb/|bash-completion/|gcc/)|etc/(default|update-motd\.d)/"
)

#: Folders of which the merged /usr has but one each. Debian 12's packages still name them as they were.
_MERGED = ("bin", "lib", "lib64", "sbin")


@dataclass(frozen=True)
class Package:
    """A package that was unpacked."""

    name: str
    version: str
    architecture: str
    sha256: str
    control: str


@dataclass
class Unpacked:
    """The files of all packages, and what they are."""

    entries: dict[bytes, Entry] = field(default_factory=dict)
    packages: list[Package] = field(default_factory=list)


def _members(path: Path, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Name and content of each member of an `ar` archive."""
    if data[:8] != b"!<arch>\n":
        raise ImageError("image.bad_deb", f"{path.name} is no Debian package: it does not begin with '!<arch>'")
    position = 8
    while position + 60 <= len(data):
        header = data[position : position + 60]
        try:
            size = int(header[48:58])
        except ValueError as error:
            raise ImageError("image.bad_deb", f"{path.name} is damaged at byte {position}") from error
        position += 60
        if position + size > len(data):
            raise ImageError("image.bad_deb", f"{path.name} ends within a member, at byte {len(data)}")
        yield header[:16].decode("ascii", "replace").strip().rstrip("/"), data[position : position + size]
        position += size + size % 2


def _open_tar(path: Path, name: str, data: bytes) -> tarfile.TarFile:
    if name.endswith(".xz"):
        data = lzma.decompress(data)
    elif name.endswith(".gz"):
        data = gzip.decompress(data)
    elif not name.endswith(".tar"):
        raise ImageError(
            "image.bad_deb", f"{path.name}: {name} has a compression that is not read here (known: xz, gz)"
        )
    return tarfile.open(fileobj=io.BytesIO(data))


def _raw_name(raw: str) -> str:
    return posixpath.normpath("/" + raw).lstrip("/")


def _name(raw: str) -> str:
    name = _raw_name(raw)
    return f"usr/{name}" if "/" in name and name.partition("/")[0] in _MERGED else name


def _add_files(archive: tarfile.TarFile, entries: dict[bytes, Entry]) -> None:
    for member in archive:
        name = _name(member.name)
        if not name or _DROPPED.match(name + "/" * member.isdir()):
            continue
        key = name.encode()
        top = _raw_name(member.name).partition("/")[0].encode()
        if top.decode() in _MERGED and not (key == top and member.issym()):
            entries.setdefault(top, symlink(b"usr/" + top))
            if key == top:
                continue
        if member.isdir():
            entries.setdefault(key, directory(member.mode & 0o7777))
        elif member.issym():
            entries[key] = symlink(member.linkname.encode())
        elif member.islnk():
            entries[key] = entries[_name(member.linkname).encode()]  # a second name is a second copy
        elif member.isreg():
            content = archive.extractfile(member)
            entries[key] = file(content.read() if content else b"", member.mode & 0o7777)


def _pins(lock: Sequence[str]) -> dict[str, str]:
    """File name -> SHA-256 of lock lines 'sha256 name version arch suite'."""
    rows = [line.split() for line in lock]
    return {f"{row[1]}_{row[2].replace(':', '%3a')}_{row[3]}.deb": row[0] for row in rows}


def _unpack(path: Path, pinned: str, architecture: str, into: Unpacked) -> None:
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != pinned:
        raise ImageError(
            "image.wrong_hash",
            f"{path.name}: wrong SHA-256\n  expected {pinned} (the lock)\n  found    {found}\n"
            "What to do: run `make lock` and review the difference, or do not use this mirror",
        )
    control = ""
    for name, member in _members(path, data):
        if name.startswith("control.tar"):
            archive = _open_tar(path, name, member)
            text = next((archive.extractfile(m) for m in archive if _name(m.name) == "control"), None)
            control = text.read().decode() if text else ""
        elif name.startswith("data.tar"):
            _add_files(_open_tar(path, name, member), into.entries)
    fields = dict(re.findall(r"^(Package|Version|Architecture): (.*)$", control, re.M))
    if len(fields) != 3:
        raise ImageError("image.bad_deb", f"{path.name} has no complete control file")
    if fields["Architecture"] not in ("all", architecture):
        raise ImageError(
            "image.wrong_architecture",
            f"{path.name} is for {fields['Architecture']}, the image for {architecture}. "
            "What to do: lock the package for the image's architecture",
        )
    into.packages.append(Package(fields["Package"], fields["Version"], fields["Architecture"], found, control))


def unpack(paths: Sequence[Path], lock: Sequence[str], architecture: str) -> Unpacked:
    """Unpacks every package of a lock; the files must be exactly the locked ones."""
    pins = _pins(lock)
    given = {path.name: path for path in paths}
    if set(given) != set(pins):
        missing, extra = sorted(set(pins) - set(given)), sorted(set(given) - set(pins))
        raise ImageError("image.lock_mismatch", f"packages and lock differ: missing {missing}, not in the lock {extra}")
    result = Unpacked()
    # base-files first: it owns the links of the merged /usr.
    for name in sorted(given, key=lambda name: (not name.startswith("base-files_"), name)):
        _unpack(given[name], pins[name], architecture, result)
    return result


def status(packages: Sequence[Package]) -> bytes:
    """var/lib/dpkg/status, which scanners read."""
    blocks = []
    for package in sorted(packages, key=lambda package: package.name):
        first, _, rest = package.control.strip().partition("\n")
        blocks.append(f"{first}\nStatus: install ok installed\n{rest}\n")
    return "\n".join(blocks).encode()


def system_files(unpacked: Unpacked) -> dict[bytes, Entry]:
    """What the packages' scripts would have made, as far as a program without a shell needs it."""
    entries = dict(unpacked.entries)
    certificates = sorted(
        name for name in entries if name.startswith(b"usr/share/ca-certificates/") and name.endswith(b".crt")
    )
    texts = [entries.pop(name).content for name in certificates]
    if texts:
        entries[b"etc/ssl/certs/ca-certificates.crt"] = file(
            b"".join(text for text in texts if isinstance(text, bytes))
        )
    entries[b"etc/passwd"] = file(
        b"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
    )
    entries[b"etc/group"] = file(b"root:x:0:\nnonroot:x:65532:\n")
    entries[b"etc/nsswitch.conf"] = file(b"passwd: files\ngroup: files\nhosts: files dns\n")
    entries[b"home/nonroot"] = directory(0o755, 65532)
    entries[b"tmp"] = directory(0o1777)
    entries[b"var/lib/dpkg/status"] = file(status(unpacked.packages))
    return _without_empty_folders(entries)


def _without_empty_folders(entries: dict[bytes, Entry]) -> dict[bytes, Entry]:
    """Less the folders under usr/share that lost all they held."""
    kept = dict(entries)
    for name in sorted(entries, reverse=True):
        inside = name + b"/"
        if kept[name].kind is Kind.DIRECTORY and name.startswith(b"usr/share/"):
            if not any(other.startswith(inside) for other in kept):
                del kept[name]
    return kept
