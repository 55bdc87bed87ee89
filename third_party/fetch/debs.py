"""Fetches Debian packages by name and version, through apt, into a folder; each file is checked against its pinned
SHA-256.

It uses a package index, a status file and a cache of its own, so it neither needs root nor changes what is installed
here, and it can take packages of
a suite that this machine does not follow. The mirror is whatever the machine's own apt configuration names. It knows
nothing of Bazel.

    debs.py resolve --suite forky NAME...            prints lock lines: sha256  name  version  arch  suite
    debs.py fetch --into DIR < LOCK                  fetches every package that the lock on standard input names
    debs.py fetch --newer-ok --into DIR < LOCK       takes the suite's newer version, with a warning, where the pinned
    one has gone
"""

from __future__ import annotations

import argparse
import fcntl
import fnmatch
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


class FetchError(Exception):
    """Something that the reader of the message can put right."""


@dataclass(frozen=True)
class Pin:
    """One line of a lock."""

    sha256: str
    name: str
    version: str
    arch: str
    suite: str

    @property
    def file_name(self) -> str:
        """The name that apt gives the file."""
        return f"{self.name}_{self.version.replace(':', '%3a')}_{self.arch}.deb"

    def line(self) -> str:
        """The lock's own form."""
        return f"{self.sha256}  {self.name}  {self.version}  {self.arch}  {self.suite}"


def parse_lock(text: str) -> list[Pin]:
    """Reads lock lines; `#` starts a comment."""
    pins = []
    for number, raw in enumerate(text.splitlines(), 1):
        fields = raw.split("#", 1)[0].split()
        if not fields:
            continue
        if len(fields) != 5 or not re.fullmatch(r"[0-9a-f]{64}", fields[0]):
            raise FetchError(f"lock line {number}: expected 'sha256 name version arch suite', found {raw!r}")
        pins.append(Pin(*fields))
    return pins


def mirror_from_targets(text: str) -> str | None:
    """The first Debian archive among `apt-get indextargets` lines `URI|origin|component`."""
    rows = [line.split("|") for line in text.splitlines() if line.count("|") == 2]
    for uri, origin, component in rows:
        if origin == "Debian" and component == "main" and "security" not in uri:
            return uri
    return None


def mirror_from_sources(text: str) -> str | None:
    """The first Debian archive in the text of sources files, in either of their two forms."""
    for line in text.splitlines():
        fields = line.split()
        if not fields or fields[0] not in ("URIs:", "deb"):
            continue
        for word in fields[1:]:
            if re.match(r"(https?|file|mirror\+\w+)://?", word) and re.search(r"/debian/?$", word):
                return word
    return None


def mirror() -> str:
    """The Debian mirror that this machine's apt is configured with."""
    asked = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI)|$(ORIGIN)|$(COMPONENT)", "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=False,
    )
    found = mirror_from_targets(asked.stdout)
    if found is None:
        folder = Path("/etc/apt/sources.list.d")
        files = [*sorted(folder.glob("debian*.sources")), Path("/etc/apt/sources.list"), *sorted(folder.glob("*"))]
        found = next(
            filter(None, (mirror_from_sources(f.read_text("utf-8", "replace")) for f in files if f.is_file())), None
        )
    if found is None:
        raise FetchError(
            "no Debian mirror found: neither `apt-get indextargets` nor the files in /etc/apt name one.\n"
            "What to do: name the machine's Debian mirror in /etc/apt/sources.list, as for `apt-get update`."
        )
    return found


def state_root() -> Path:
    """Where the indices are kept between runs; any folder of the user's own will do."""
    base = os.environ.get("XDG_CACHE_HOME") or (
        os.path.join(os.environ["HOME"], ".cache") if os.environ.get("HOME") else ""
    )
    root = Path(base) / "trtmc" / "apt" if base else Path(tempfile.gettempdir()) / f"trtmc-apt-{os.getuid()}"
    root.mkdir(parents=True, exist_ok=True, mode=0o700)
    return root


class Suite:
    """One Debian suite seen through apt with a state of its own."""

    def __init__(self, name: str, root: Path) -> None:
        self.name = name
        self.root = root / name
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "status").touch()
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        (self.root / "sources.list").write_text(f"deb {signed}{mirror()} {name} main\n", "utf-8")

    def _options(self) -> list[str]:
        pairs = {
            "Dir::Etc::SourceList": self.root / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null",
            "Dir::State::Lists": self.root / "lists",
            "Dir::State::status": self.root / "status",
            "Dir::Cache": self.root / "cache",
            # Container images switch these two off; without them every apt call reads the whole index anew.
            "Dir::Cache::pkgcache": "pkgcache.bin",
            "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
            # A frozen mirror's index may have passed its date; the pinned hashes are what we trust.
            "Acquire::Check-Valid-Until": "false",
            "Acquire::Retries": "3",
            "Acquire::Languages": "none",
            "APT::Sandbox::User": "",
            "APT::Architecture": "amd64",
            "APT::Architectures": "amd64",
        }
        return [word for key, value in pairs.items() for word in ("-o", f"{key}={value}")]

    def run(self, *command: str, cwd: Path | None = None) -> str:
        """Runs one apt command and returns its output."""
        program, *rest = command
        env = {**os.environ, "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        done = subprocess.run(
            [program, *self._options(), *rest], cwd=cwd, capture_output=True, text=True, check=False, env=env
        )
        if done.returncode != 0:
            raise FetchError(
                f"`{program} {' '.join(rest[:4])}` failed for Debian {self.name}:\n"
                f"{(done.stderr or done.stdout).strip()[-2000:]}"
            )
        return done.stdout

    def update(self) -> None:
        """Fetches the suite's index."""
        self.run("apt-get", "update", "-qq")

    def has_index(self) -> bool:
        """Whether an index was fetched before."""
        return any((self.root / "lists").glob("*Packages*"))

    def names(self) -> list[str]:
        """Every package name of the suite."""
        return self.run("apt-cache", "pkgnames").split()

    def pins(self, names: list[str]) -> dict[str, Pin]:
        """The suite's newest version of each package; a name that the suite lacks is left out."""
        found: dict[str, Pin] = {}
        known = set(self.names())
        wanted = [name for name in names if name in known]
        if not wanted:
            return found
        for block in self.run("apt-cache", "show", *wanted).split("\n\n"):
            field = dict(re.findall(r"^(Package|Version|Architecture|SHA256): (.*)$", block, re.M))
            if field and field["Package"] not in found:
                found[field["Package"]] = Pin(
                    field["SHA256"], field["Package"], field["Version"], field["Architecture"], self.name
                )
        return found

    def versions(self, names: list[str]) -> set[tuple[str, str]]:
        """All (name, version) pairs that the index offers for these names."""
        known = set(self.names())
        wanted = [name for name in names if name in known]
        text = self.run("apt-cache", "madison", *wanted) if wanted else ""
        return {
            (row[0].strip(), row[1].strip()) for row in (line.split("|") for line in text.splitlines()) if len(row) >= 3
        }

    def download(self, pins: list[Pin], into: Path) -> None:
        """Fetches the packages' files into a folder."""
        self.run("apt-get", "download", "-qq", *(f"{pin.name}={pin.version}" for pin in pins), cwd=into)


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """One process at a time works on the indices."""
    with open(root / "lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    digest = hashlib.sha256()
    with open(path, "rb") as handle:
        while chunk := handle.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def check(pin: Pin, path: Path) -> None:
    """Raises when the file is not the pinned one."""
    found = sha256_of(path)
    if found != pin.sha256:
        path.unlink()
        raise FetchError(
            f"{path.name}: wrong SHA-256\n  expected {pin.sha256} (the lock)\n  found    {found} (Debian {pin.suite})\n"
            "What to do: if the archive rebuilt this package, run `make lock` and review the difference; "
            "otherwise do not use this mirror."
        )


def fetch_suite(suite: Suite, pins: list[Pin], into: Path, newer_ok: bool) -> list[Pin]:
    """Fetches one suite's pins; returns what was fetched, which differs from the pins only with `newer_ok`."""
    names = [pin.name for pin in pins]
    updated = False
    if not suite.has_index():
        suite.update()
        updated = True
    gone = [pin for pin in pins if (pin.name, pin.version) not in suite.versions(names)]
    if gone and not updated:
        suite.update()
        gone = [pin for pin in pins if (pin.name, pin.version) not in suite.versions(names)]
    if gone and not newer_ok:
        listing = "\n".join(f"  {pin.name} {pin.version}" for pin in gone)
        raise FetchError(
            f"Debian {suite.name} no longer offers {len(gone)} pinned package(s):\n{listing}\n"
            "What to do: `make lock` pins what the suite offers now; review the difference and commit it."
        )
    newest = suite.pins([pin.name for pin in gone])
    chosen = []
    for pin in pins:
        if pin not in gone:
            chosen.append(pin)
            continue
        if pin.name not in newest:
            raise FetchError(f"Debian {suite.name} has no package {pin.name} any more; the lock names {pin.version}.")
        print(
            f"warning: {pin.name} {pin.version} has left Debian {suite.name}; taking {newest[pin.name].version}",
            file=sys.stderr,
        )
        chosen.append(newest[pin.name])
    suite.download(chosen, into)
    return chosen


def from_kit(pins: list[Pin], into: Path) -> None:
    """Copies what an air-gap kit holds (TRTMC_KIT names its folder of files), so that the archive need not be asked."""
    kit = os.environ.get("TRTMC_KIT")
    for pin in pins if kit else []:
        source = Path(str(kit)) / "content_addressable" / "sha256" / pin.sha256 / "file"
        if source.is_file():
            shutil.copyfile(source, into / pin.file_name)


def fetch(pins: list[Pin], into: Path, newer_ok: bool) -> list[Pin]:
    """Fetches and checks every pin that is not in the folder yet."""
    into.mkdir(parents=True, exist_ok=True)
    from_kit(pins, into)
    missing = [
        pin for pin in pins if not ((into / pin.file_name).is_file() and sha256_of(into / pin.file_name) == pin.sha256)
    ]
    got = [pin for pin in pins if pin not in missing]
    root = state_root()
    with locked(root):
        for name in sorted({pin.suite for pin in missing}):  # none, if the folder or a kit had them all
            got += fetch_suite(Suite(name, root), [pin for pin in missing if pin.suite == name], into, newer_ok)
    for pin in got:
        check(pin, into / pin.file_name)
    return got


def resolve(suite_name: str, patterns: list[str]) -> list[Pin]:
    """Pins for the suite's newest version of each package; a pattern with `*` means the highest matching name."""
    root = state_root()
    with locked(root):
        suite = Suite(suite_name, root)
        suite.update()
        every = suite.names()
        names = []
        for pattern in patterns:
            matching = [n for n in every if fnmatch.fnmatchcase(n, pattern)] if "*" in pattern else [pattern]
            if not matching:
                raise FetchError(f"Debian {suite_name} has no package that matches {pattern}")
            names.append(max(matching, key=lambda n: [int(p) if p.isdigit() else 0 for p in re.split(r"(\d+)", n)]))
        pins = suite.pins(names)
    absent = [name for name in names if name not in pins]
    if absent:
        raise FetchError(f"Debian {suite_name} has no package {', '.join(absent)}")
    return sorted(pins.values(), key=lambda pin: pin.name)


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="debs.py", description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("resolve", help="print lock lines for what a suite offers now")
    one.add_argument("--suite", required=True)
    one.add_argument("names", nargs="+")
    two = commands.add_parser("fetch", help="fetch what the lock on standard input names")
    two.add_argument("--into", type=Path, required=True)
    two.add_argument("--newer-ok", action="store_true")
    arguments = parser.parse_args(argv)
    try:
        if arguments.command == "resolve":
            print("\n".join(pin.line() for pin in resolve(arguments.suite, arguments.names)))
        else:
            fetch(parse_lock(sys.stdin.read()), arguments.into, arguments.newer_ok)
    except FetchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
