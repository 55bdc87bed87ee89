"""`make in-container CMD=…`: runs a command in the toolchain image, on this checkout, as the user who calls.

    in_container.py [--image REFERENCE] [--engine PROGRAM] [--cache FOLDER] [--network auto|none|NAME] -- COMMAND

Without --image it builds //containers:toolchain and loads it, if the engine does not have it yet. The checkout and the
cache folder lie at the same paths inside as outside, so what is built is found from both sides. Bazel's repository
cache is shared; with everything pinned in it the container has no network. The exit status is the command's.
docs/images.md says which rights the container has, and why.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPO))

from containers.airgap.pins import Pin, pins  # noqa: E402  (found through the line above)

TARGET = "//containers:toolchain"
SECCOMP = REPO / "containers" / "toolchain.seccomp.json"
#: Of the image: its wheels are the ones that a build inside asks for.
PYTHON = "3.11"
UNSUPPORTED, RESOURCE = 4, 7
#: What of the machine says where packages come from, and whom it trusts; only of use with a network.
SOURCES = ("/etc/pip.conf", "/etc/apt/sources.list", "/etc/apt/sources.list.d", "/etc/ssl/certs/ca-certificates.crt")
PASSED = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL", "TERM")


class ContainerError(Exception):
    """Something that the reader of the message can put right; `code` is stable."""

    def __init__(self, code: str, message: str, exit_code: int = UNSUPPORTED) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


@dataclass(frozen=True)
class Engine:
    """A container engine that answers."""

    program: str
    podman: bool
    rootless: bool
    apparmor: bool
    selinux: bool

    def user(self, uid: int, gid: int) -> list[str]:
        """Options that make files belong to the caller. In a rootless Docker the caller is root."""
        if self.podman and self.rootless:
            return ["--userns=keep-id", f"--user={uid}:{gid}"]
        return ["--user=0:0"] if self.rootless else [f"--user={uid}:{gid}"]

    def security(self, root: bool) -> list[str]:
        """The least that Bazel's own sandbox needs: namespaces and mounts of its own, and a /proc that it may mount."""
        words = ["--cap-drop=ALL", "--security-opt=no-new-privileges", f"--security-opt=seccomp={SECCOMP}"]
        words.append("--security-opt=unmask=ALL" if self.podman else "--security-opt=systempaths=unconfined")
        if root:  # user 0 maps itself into the sandbox
            words.append("--cap-add=SETFCAP")
        if self.apparmor:
            words.append("--security-opt=apparmor=unconfined")
        if self.selinux:
            words.append("--security-opt=label=disable")
        return words


def ask(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in the checkout for its answer."""
    return subprocess.run(words, cwd=REPO, capture_output=True, text=True, check=False)


def find_engine(asked: str) -> Engine:
    """The engine that was asked for, or docker, or podman."""
    program = next(filter(None, map(shutil.which, [asked] if asked else ["docker", "podman"])), None)
    if program is None:
        what = f"'{asked}' is not" if asked else "neither docker nor podman is"
        raise ContainerError(
            "in_container.no_engine",
            f"no container engine: {what} in $PATH. What to do: install one (Debian: apt-get install docker.io), "
            "name it (ENGINE=/path/to/podman), or build without a container (`make setup`)",
        )
    podman = Path(program).name.startswith("podman")
    form = "{{json .Host.Security}}" if podman else "{{json .SecurityOptions}}"
    found = ask(program, "info", "--format", form)
    text = found.stdout.strip()
    if found.returncode != 0 or not text or text == "null":
        raise ContainerError(
            "in_container.engine_silent",
            f"{program} is here, but no engine answers it: {(found.stderr or found.stdout).strip()[-300:]}\n"
            "What to do: start it (Docker: `systemctl start docker`), get the right to use it (group `docker`), or "
            "name another (DOCKER_HOST, ENGINE)",
        )
    if podman:
        host = json.loads(text)
        return Engine(
            program,
            True,
            host.get("rootless", False),
            host.get("apparmorEnabled", False),
            host.get("selinuxEnabled", False),
        )
    return Engine(program, False, "name=rootless" in text, "name=apparmor" in text, "name=selinux" in text)


def built_image(engine: Engine) -> str:
    """Builds the image and loads it, if the engine lacks it; returns its id."""
    subprocess.run([REPO / "tools" / "setup.sh"], check=True)
    words = ["bazel", "build", "--ui_event_filters=-info", "--output_groups=+digests", TARGET]
    done = subprocess.run(words, cwd=REPO, check=False)
    if done.returncode != 0:
        raise ContainerError("in_container.no_image", f"`bazel build {TARGET}` failed (see above)", done.returncode)
    bin_folder = ask("bazel", "info", "--ui_event_filters=-info,-warning", "bazel-bin").stdout.strip().splitlines()[-1]
    archive = Path(bin_folder) / "containers" / "toolchain.tar"
    record = json.loads(archive.with_name("toolchain.digests.json").read_text("utf-8"))
    # An engine names an image by its config, or, with containerd's store, by its manifest.
    ids = [record["config"], record["manifest"]]
    for image in ids:
        if ask(engine.program, "image", "inspect", image).returncode == 0:
            return image
    print(f"loading {record['name']} into {Path(engine.program).name} ...", file=sys.stderr)
    loaded = ask(engine.program, "load", "--input", str(archive))
    for image in ids:
        if ask(engine.program, "image", "inspect", image).returncode == 0:
            return image
    raise ContainerError(
        "in_container.not_loaded",
        f"{engine.program} did not load {archive}: {(loaded.stderr or loaded.stdout).strip()[-300:]}",
        RESOURCE,
    )


def named_image(engine: Engine, image: str) -> str:
    """An image that the user names; it is pulled if the engine lacks it."""
    if ask(engine.program, "image", "inspect", image).returncode != 0:
        done = subprocess.run([engine.program, "pull", image], stdout=sys.stderr, check=False)
        if done.returncode != 0:
            raise ContainerError(
                "in_container.no_image",
                f"{engine.program} neither has {image} nor gets it (see above). What to do: compare the reference, or "
                f"leave IMAGE out, to build {TARGET}",
            )
    return image


def own_downloads(engine: Engine, image: str) -> Path | None:
    """Where an image holds downloads of its own, if it does (//containers:toolchain_offline)."""
    form = '{{index .Config.Labels "io.trtmc.toolchain.downloads"}}'
    found = ask(engine.program, "image", "inspect", "--format", form, image).stdout.strip()
    return Path(found) if found.startswith("/") else None


def repository_cache() -> Path:
    """Where this user's Bazel keeps downloads."""
    found = (
        ask("bazel", "info", "--ui_event_filters=-info,-warning", "repository_cache") if shutil.which("bazel") else None
    )
    if found and found.returncode == 0:
        return Path(found.stdout.strip().splitlines()[-1])
    return Path.home() / ".cache" / "bazel" / f"_bazel_{pwd.getpwuid(os.getuid()).pw_name}" / "cache" / "repos" / "v1"


def missing(wanted: list[Pin], cache: Path) -> list[Pin]:
    """Pinned files that a repository cache lacks."""
    return [pin for pin in wanted if not (cache / "content_addressable" / "sha256" / pin.sha256 / "file").is_file()]


def network(asked: str, absent: list[Pin], cache: Path) -> list[str]:
    """The network option, and a word about it when there is one."""
    if asked != "auto":
        return [f"--network={asked}"]
    if not absent:
        return ["--network=none"]
    names = ", ".join(pin.file for pin in absent[:3]) + (", …" if len(absent) > 3 else "")
    print(
        f"in-container: with network, because {len(absent)} pinned file(s) are not in {cache} yet ({names}). "
        "NETWORK=none goes without; a build that needs one of them then fails.",
        file=sys.stderr,
    )
    return []


def prepare_home(home: Path, repositories: Path, uid: int, gid: int) -> None:
    """The cache folder is the home inside: Bazel's options, and a name for the user, which Java and git want."""
    home.mkdir(parents=True, exist_ok=True)
    (home / ".bazelrc").write_text(f"common --repository_cache={repositories}\n", "utf-8")
    root = "root:x:0:0:root:/root:/bin/bash\n" if uid else ""
    (home / "passwd").write_text(f"{root}build:x:{uid}:{gid}:build:{home}:/bin/bash\n", "utf-8")


def mounts(home: Path, repositories: Path, online: bool) -> list[str]:
    """What the container sees of this machine. Downloads of the image's own are no folder here."""
    words = [f"--volume={path}:{path}" for path in (REPO, home, repositories) if path.exists()]
    words.append(f"--volume={home / 'passwd'}:/etc/passwd:ro")
    common = ask("git", "rev-parse", "--path-format=absolute", "--git-common-dir").stdout.strip()
    if common and not Path(common).is_relative_to(REPO):  # a worktree
        words.append(f"--volume={common}:{common}:ro")
    pip = Path.home() / ".config" / "pip"
    for path in [*SOURCES, str(pip)] if online else []:
        if Path(path).exists():
            inside = home / ".config" / "pip" if path == str(pip) else path
            words.append(f"--volume={path}:{inside}:ro")
    return words


def hold(home: Path) -> None:
    """One container at a time uses the cache folder: Bazel's servers would not see each other. Held until the end."""
    handle = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(handle, True)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"in-container: waiting for another container that uses {home} ...", file=sys.stderr)
        fcntl.flock(handle, fcntl.LOCK_EX)


def command_line(
    engine: Engine, image: str, home: Path, network_words: list[str], repositories: Path, command: str
) -> list[str]:
    """The whole `docker run`."""
    uid, gid = os.getuid(), os.getgid()
    inside_root = uid == 0 or (engine.rootless and not engine.podman)
    prepare_home(home, repositories, 0 if inside_root else uid, 0 if inside_root else gid)
    here = Path.cwd()
    words = [engine.program, "run", "--rm", *engine.user(uid, gid), *engine.security(inside_root), *network_words]
    words += mounts(home, repositories, network_words != ["--network=none"])
    words += [f"--workdir={here if here.is_relative_to(REPO) else REPO}", f"--env=HOME={home}", "--env=USER=build"]
    words += [f"--env={name}" for name in PASSED if name in os.environ]
    if sys.stdin.isatty() and sys.stdout.isatty():
        words.append("--interactive")
        words.append("--tty")
    return [*words, image, "bash", *(["-c", command] if command else [])]


def run(arguments: argparse.Namespace) -> None:
    """Prepares everything, then becomes the engine's client: signals and exit status are the command's."""
    if not arguments.command and not sys.stdin.isatty():
        raise ContainerError("in_container.no_command", 'say what to run: make in-container CMD="bazel build …"', 2)
    engine = find_engine(arguments.engine)
    image = named_image(engine, arguments.image) if arguments.image else built_image(engine)
    home = Path(arguments.cache or Path.home() / ".cache" / "trtmc" / "container").absolute()
    home.mkdir(parents=True, exist_ok=True)
    repositories = Path(arguments.repository_cache or repository_cache()).absolute()
    absent = missing(pins(REPO, PYTHON), repositories)
    own = own_downloads(engine, image) if absent else None
    if own:
        print(f"in-container: with the downloads of the image ({own}); {len(absent)} are not here", file=sys.stderr)
        repositories, absent = own, []
    else:
        repositories.mkdir(parents=True, exist_ok=True)
    words = network(arguments.network, absent, repositories)
    hold(home)
    command = command_line(engine, image, home, words, repositories, " ".join(arguments.command))
    os.execv(engine.program, command)


def main(argv: list[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="in_container.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--image", default="", help="an image that the engine has or can pull, instead of building it")
    parser.add_argument("--engine", default="", help="docker, podman, or the path of one")
    parser.add_argument("--cache", default="", help="home and caches inside; default ~/.cache/trtmc/container")
    parser.add_argument("--repository-cache", default="", help="Bazel's downloads; default: those of this user")
    parser.add_argument("--network", default="auto", help="none, a network's name, or auto: none if nothing is missing")
    parser.add_argument("command", nargs="*", help="what bash runs; a shell, if nothing is said")
    try:
        run(parser.parse_args(argv))
    except ContainerError as error:
        print(f"error [{error.code}]: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"error [in_container.io]: {error.filename}: {error.strerror}", file=sys.stderr)
        return RESOURCE
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
