"""The image to build in: the same bytes as the machine outside makes, with the least rights, as the user who calls."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import docker
import pytest

from tests.images.archives import ROOT, Archive
from tests.images.reproducible_test import tool
from tests.images.services import Engine, program, scratch
from tools import in_container

IMAGE = Archive(ROOT / "containers" / "toolchain.tar")
BAZEL_LAYER = ROOT / "containers" / "toolchain_bazel.layer.json"
OUTSIDE = {
    "bundle.bundle": ROOT / "bazel/private/testdata/bundle.bundle",
    "libtrtmc_builder_heap.so": ROOT / "python/trtmc/heap/libtrtmc_builder_heap.so",
}
TARGETS = "//bazel/private/testdata:bundle //python/trtmc/heap:libtrtmc_builder_heap.so"
STORE = Path("content_addressable") / "sha256"
USER = 12345
#: The caller: nobody that the machine knows, but one who may read the interpreter wherever it lies.
CALLER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
CALLER += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
SANDBOX = "/opt/bazel/usr/libexec/x86_64-linux-gnu/bazel/linux-sandbox"
BUILD = f"""set -e
cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' ' > $HOME/interfaces
bazel build --experimental_convenience_symlinks=ignore --curses=no {TARGETS} 2>&1 | tee $HOME/log | tail -5
cp -L $(bazel info bazel-bin)/bazel/private/testdata/bundle.bundle $HOME/
cp -L $(bazel info bazel-bin)/python/trtmc/heap/libtrtmc_builder_heap.so $HOME/
cp $(bazel info output_base)/external/*host_cc/extra_tools/fingerprint.txt $HOME/
"""


@pytest.fixture(scope="module")
def image(engine: Engine) -> docker.models.images.Image:
    """The image, loaded."""
    with open(IMAGE.path, "rb") as handle:
        (loaded,) = engine.client.images.load(handle)
    return loaded


@dataclass(frozen=True)
class Caller:
    """A user with a checkout of their own."""

    tree: Path
    home: Path
    engine: Engine
    image: str

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """What `make in-container` runs."""
        words = [*CALLER, sys.executable, "-B", str(self.tree / "tools" / "in_container.py"), "--image", self.image]
        words += ["--engine", program("docker"), "--cache", str(self.home), "--network", "none"]
        words += ["--repository-cache", str(self.home.with_name("downloads")), "--", command]
        host = {"DOCKER_HOST": f"unix://{self.engine.socket}"}
        return subprocess.run(words, env=os.environ | host, capture_output=True, text=True, check=False)


def share_downloads(into: Path) -> None:
    """What this machine's repository cache holds, as links: the caller may add to the folder and change no file."""
    for source in (in_container.repository_cache() / STORE).glob("*/file"):
        target = into / STORE / source.parent.name / "file"
        target.parent.mkdir()
        os.chown(target.parent, USER, USER)  # Bazel writes there, too
        try:
            os.link(source, target)
        except OSError:  # another disk
            shutil.copyfile(source, target)


@pytest.fixture(scope="module")
def caller(engine: Engine, image: docker.models.images.Image) -> Iterator[Caller]:
    """Another folder, another user, empty caches, no network."""
    program("setpriv")
    engine.socket.chmod(0o666)
    engine.root.chmod(0o755)
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=in_container.REPO, capture_output=True, text=True, check=True).stdout
    with scratch("toolchain") as root:
        root.chmod(0o755)
        for name in filter(None, names.split("\0")):
            if (in_container.REPO / name).is_file():
                (root / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(in_container.REPO / name, root / "tree" / name)
        (root / "home").mkdir()
        (root / "downloads" / STORE).mkdir(parents=True)
        subprocess.run(["chown", "-R", f"{USER}:{USER}", str(root)], check=True)
        share_downloads(root / "downloads")
        yield Caller(root / "tree", root / "home", engine, str(image.id))


@pytest.fixture(scope="module")
def built(caller: Caller) -> Path:
    """What a build inside left in its home."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("not run here: this machine's repository cache holds wheels for another Python than the image's")
    done = caller.run(BUILD)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return caller.home


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_it_loads_with_the_digest_of_the_build_and_says_what_it_holds(image: docker.models.images.Image) -> None:
    assert image.id == IMAGE.config_digest and image.tags == ["trtmc-toolchain:" + IMAGE.tag]
    config = image.attrs["Config"]
    assert config["User"] == "65532:65532" and config["Cmd"] == ["/usr/bin/bash"]
    assert config["Labels"]["io.trtmc.toolchain.compiler"].startswith("g++-12 12.")
    assert not [label for label in config["Labels"] if label.startswith("io.trtmc.target")]
    (spdx, _) = IMAGE.read("index.json")["manifests"][1:]
    document = IMAGE.blob(IMAGE.blob(spdx["digest"])["layers"][0]["digest"])
    held = {package["name"] for package in document["packages"]}
    assert {"bazel-bootstrap", "openjdk-25-jre-headless", "g++-12", "python3.11", "git", "make"} <= held


def test_no_program_lacks_a_library(engine: Engine, image: docker.models.images.Image) -> None:
    look = 'for f in /usr/bin/* /usr/sbin/*; do ldd "$f" 2>/dev/null | grep -q "not found" && echo "$f"; done'
    script = look + "; bazel --version"
    said = engine.client.containers.run(image.id, ["bash", "-c", script], remove=True, network_mode="none")
    assert said.decode().split("\n")[0] == "bazel 7.7.1"


@pytest.mark.parametrize("user", ["1000:1000", "0:0"])
def test_the_rights_are_the_least_with_which_the_sandbox_starts(
    engine: Engine, image: docker.models.images.Image, user: str
) -> None:
    docker_program = program("docker")
    ours = in_container.Engine(docker_program, podman=False, rootless=False, apparmor=False, selinux=False)
    full = ours.security(root=user == "0:0")

    def starts(words: list[str]) -> bool:
        run = [docker_program, f"--host=unix://{engine.socket}", "run", "--rm", "--network=none", f"--user={user}"]
        inside = [str(image.id), SANDBOX, "-N", "-w", "/tmp", "--", "/usr/bin/true"]
        return subprocess.run([*run, *words, *inside], capture_output=True, check=False).returncode == 0

    assert starts(full)
    for right in full:
        if "seccomp" in right or "systempaths" in right or "cap-add" in right:
            assert not starts([word for word in full if word != right]), f"{right} is not needed"


def test_a_bundle_built_inside_has_the_bytes_of_one_built_outside(built: Path) -> None:
    assert digest(built / "bundle.bundle") == digest(OUTSIDE["bundle.bundle"])
    assert (built / "interfaces").read_text("utf-8").split() == ["lo"]
    log = (built / "log").read_text("utf-8")
    assert " linux-sandbox" in log and "cache hit" not in log, "its actions ran inside, each in Bazel's sandbox"


def test_cxx_compiled_inside_has_the_same_bytes_where_the_compiler_is_the_same(built: Path) -> None:
    inside = built / "libtrtmc_builder_heap.so"
    assert inside.read_bytes()[:4] == b"\x7fELF"
    words = ["bazel", "info", "--ui_event_filters=-info,-warning", "output_base"]
    base = Path(in_container.ask(*words).stdout.strip().splitlines()[-1])
    (outside,) = base.glob("external/*host_cc/extra_tools/fingerprint.txt")
    if outside.read_bytes() != (built / "fingerprint.txt").read_bytes():
        pytest.skip("not run here: this machine's compiler is another one than the image's")
    assert digest(inside) == digest(OUTSIDE["libtrtmc_builder_heap.so"])


def test_every_file_belongs_to_the_caller(built: Path, caller: Caller) -> None:
    links = ["find", str(caller.tree), str(built), "-not", "-user", str(USER), "-print", "-quit"]
    assert subprocess.run(links, capture_output=True, text=True, check=True).stdout == ""
    left = {path.name for path in caller.tree.iterdir()} - {path.name for path in in_container.REPO.iterdir()}
    assert not left, "the checkout holds what it held"


def test_exit_status_make_and_setup_work_inside(caller: Caller) -> None:
    done = caller.run("make help | head -1 && make setup && id -u && python3 -m pip --version && exit 7")
    assert done.returncode == 7, done.stderr
    assert str(USER) in done.stdout.split() and "make help" in done.stdout


def test_bazel_s_layer_is_the_same_from_another_folder_and_user() -> None:
    stated = json.loads(BAZEL_LAYER.read_text("utf-8"))
    with scratch("layer") as folder:
        names = os.environ["TRTMC_BAZEL_DEBS"].split()
        (folder / "debs").mkdir()
        for name in names:
            shutil.copyfile(ROOT / name, folder / "debs" / Path(name).name)
        shutil.copyfile(ROOT / "third_party" / "bazel.debs.lock", folder / "bazel.debs.lock")
        wanted = {"files": [f"debs/{Path(name).name}" for name in names], "lock_file": "bazel.debs.lock"}
        wanted |= {"prefix": "opt/bazel", "options": []}
        manifest = {"name": stated["name"], "architecture": "amd64", "compression": "none", "bazel": wanted}
        tool(folder, CALLER, manifest, ["out/d"])
        assert json.loads((folder / "out" / "d").read_text("utf-8"))["diff_id"] == stated["diff_id"]
