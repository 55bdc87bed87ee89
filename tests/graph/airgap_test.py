"""The air-gap kit, made from this tree and used where there is nothing: no network, an empty home, empty caches, no
Bazel, another user.

Each run rebuilds a bundle and a small image of it. The product's own images, with all of its C++ and Rust, and its
tests take most of an hour on two cores: `bazel run //tests/graph -- -v --long -k whole_product`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bazel.private.tools.image.kit import make_deb
from containers.airgap import compare
from containers.airgap import kit as kits
from tests.graph.harness import Checkout, can_unplug

BUNDLE = "//families/llama:bundle"
TRIAL = "//tests/graph:trial"
PRODUCT = ("//containers:runtime", "//families/llama:image", BUNDLE)
PYTHON = ".".join(map(str, sys.version_info[:2]))
#: A user without name and home. Root can be it; another user stays who he is.
NOBODY = ("setpriv", "--reuid=4242", "--regid=4242", "--clear-groups")


def expectations(tree: Checkout, *names: str) -> compare.Outcomes:
    """What these outputs state, as the manifest of a kit holds it."""
    folder = tree.bazel("info", "bazel-bin", "--ui_event_filters=-info,-warning").stdout.strip().splitlines()[-1]
    return compare.outcomes(Path(folder), names)


@pytest.fixture(scope="module")
def dropped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An older kit with a package that no archive has any more, and the package's line of a lock."""
    folder = tmp_path_factory.mktemp("older") / "kit"
    folder.mkdir()
    deb, line = make_deb(folder.parent, "ca-certificates", {"usr/share/ca-certificates/old.crt": b"an old one\n"})
    target = folder / "files" / kits.STORE / line[:64] / "file"
    target.parent.mkdir(parents=True)
    deb.rename(target)
    at = target.relative_to(folder).as_posix()
    kits.seal(folder, kits.manifest(folder, {at: deb.name}, {}, PYTHON))
    return folder, line


@pytest.fixture(scope="module")
def ground() -> Iterator[Path]:
    """A folder that every user can see; pytest keeps its own to itself."""
    folder = Path(tempfile.mkdtemp(prefix="trtmc-airgap-"))
    folder.chmod(0o755)
    yield folder
    remove(folder)


def remove(folder: Path) -> None:
    """Bazel's outputs are read-only."""
    subprocess.run(["chmod", "-R", "u+w", str(folder)], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def kit(tree: Checkout, dropped: tuple[Path, str], ground: Path) -> Path:
    """A kit that expects the small image and its bundle."""
    tree.build(TRIAL, BUNDLE, "--output_groups=+digests")
    expected = expectations(tree, "tests/graph/trial.digests.json", "families/llama/bundle.bundle")
    kits.make(ground / "kit", [dropped[0]], expected, PYTHON)
    return ground / "kit"


@pytest.fixture
def work(ground: Path) -> Iterator[Path]:
    """A new folder for a rebuild."""
    yield ground / "other" / "work"
    remove(ground / "other")


def pythons() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The Pythons to rebuild with, best first, and the words before a command: whom it runs as."""
    mine = os.path.realpath(str(shutil.which("python3")))
    suits = "import os, sys, sysconfig; include = sysconfig.get_path('include'); "
    suits += f"sys.exit('%d.%d' % sys.version_info[:2] != '{PYTHON}' or not os.path.exists(include + '/Python.h'))"
    for program in dict.fromkeys([mine, "/usr/bin/python3"]) if os.getuid() == 0 else ():
        if subprocess.run([*NOBODY, program, "-Ic", suits], capture_output=True, check=False).returncode == 0:
            yield program, NOBODY
    yield mine, ()


def rebuild(kit: Path, work: Path, targets: str = "", tests: str = "") -> subprocess.CompletedProcess[str]:
    """rebuild.sh in a network namespace with `lo` alone, with next to no environment, and as another user if root."""
    program, words = next(pythons())
    work.parent.mkdir(parents=True, exist_ok=True)
    if words:
        os.chown(work.parent, 4242, 4242)
    user = [] if os.getuid() == 0 else ["-r"]
    words = ("unshare", *user, "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *words)
    env = {"PATH": f"{os.path.dirname(program)}:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/nonexistent"}
    env |= {"TZ": "Pacific/Kiritimati", "TESTS": tests, "BAZEL_OPTIONS": "--jobs=2"}
    return subprocess.run(
        [*words, str(kit / "rebuild.sh"), str(work)],
        capture_output=True,
        text=True,
        check=False,
        env=env | ({"TARGETS": targets} if targets else {}),
    )


def test_a_machine_without_anything_rebuilds_the_same_bundle_and_image(kit: Path, work: Path) -> None:
    if not can_unplug():
        pytest.skip("not run here: no network namespace can be made")
    done = rebuild(kit, work, f"{BUNDLE} {TRIAL}")
    assert done.returncode == 0, done.stderr[-4000:]
    for what in ("llama/bundle.bundle: bundle", "trial.digests.json: image", "trial.digests.json: layer trial_program"):
        assert f"{what} " in done.stdout, what
    assert not list((work / "home" / ".cache" / "trtmc" / "apt").glob("*/sources.list")), "the archive was asked"


def test_a_kit_that_lost_a_file_names_it_before_anything_is_built(kit: Path, work: Path, tmp_path: Path) -> None:
    pin = next(pin for pin in kits.pins(kits.TREE, PYTHON) if pin.file.startswith("base-files_"))
    place = kits.stored(kit / "files", pin)
    away = tmp_path / "away"
    shutil.move(place, away)
    try:
        done = rebuild(kit, work, BUNDLE)
    finally:
        shutil.move(away, place)
    assert done.returncode == 3 and f"missing  {pin.file}" in done.stderr
    assert not work.exists()


def test_an_old_commit_s_package_that_the_archive_dropped_comes_from_the_kit(
    kit: Path, dropped: tuple[Path, str], tree: Checkout, tmp_path: Path
) -> None:
    shutil.copytree(kit / "files", tmp_path / "cache")
    lock = tree.folder / "third_party" / "debs.lock.bzl"
    text = lock.read_text("utf-8")
    now = next(row for row in text.splitlines() if "  ca-certificates  " in row).strip().strip('",')
    lock.write_text(text.replace(now, dropped[1]), "utf-8")
    try:
        tree.build("//containers:base", f"--repository_cache={tmp_path / 'cache'}")
    finally:
        lock.write_text(text, "utf-8")


@pytest.mark.long
def test_the_whole_product_is_rebuilt_and_tested(tree: Checkout, ground: Path, work: Path) -> None:
    if not can_unplug():
        pytest.skip("not run here: no network namespace can be made")
    tree.build("--output_groups=+digests", *PRODUCT)
    records = ("containers/runtime.digests.json", "families/llama/image.digests.json", "families/llama/bundle.bundle")
    kits.make(ground / "whole", [], expectations(tree, *records), PYTHON)
    done = rebuild(ground / "whole", work, tests="//...")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    for name in records:
        assert f"same as the kit's maker: {name}: " in done.stdout
