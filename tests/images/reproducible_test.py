"""oci-1: the clock, the user, the host name and the folder do not get into an image."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.images.archives import LLAMA, ROOT, RUNTIME, Archive
from tests.images.services import program, scratch
from tools.lock import LOCKS

ARCHIVES = pytest.mark.parametrize("archive", [RUNTIME, LLAMA], ids=["runtime", "llama"])
#: Another user, who may read the interpreter wherever it lies.
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
NOBODY += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
_MAIN = "from bazel.private.tools.image.main import main; import sys; sys.exit(main(sys.argv[1:]))"


def tool(folder: Path, prefix: list[str], manifest: dict[str, object], outputs: list[str]) -> None:
    """Makes a layer with the tool alone, in a folder of its own; `prefix` may make it another user."""
    for part in ("bazel/private/tools/image", "tools/bazel"):
        shutil.copytree(ROOT / part, folder / part)
    (folder / "m.json").write_text(json.dumps(manifest), "utf-8")
    (folder / "out").mkdir()
    for path in (folder, folder / "out"):
        path.chmod(0o777)
    words = [*prefix, sys.executable, "-B", "-I", "-c", f"import sys; sys.path.insert(0, '.'); {_MAIN}", "layer"]
    subprocess.run([*words, "m.json", *outputs], cwd=folder, check=True)


def base_layer(folder: Path, prefix: list[str]) -> bytes:
    """The real base layer."""
    (folder / "debs").mkdir()
    files = []
    for deb in os.environ["TRTMC_DEBS"].split():
        files.append(f"debs/{Path(deb).name}")
        shutil.copyfile(ROOT / deb, folder / files[-1])
    wanted = {"files": files, "lock": LOCKS["debs"].read()["image_base"]}
    manifest = {"name": "base", "architecture": "amd64", "compression": "gzip", "debs": wanted}
    tool(folder, prefix, manifest, ["out/d", "out/b"])
    return (folder / "out" / "b").read_bytes()


def test_oci_1_another_user_on_another_day_in_another_folder_makes_the_same_layer() -> None:
    built = (ROOT / "containers" / "base.layer.tar.gz").read_bytes()
    with scratch("one") as one, scratch("other") as other:
        assert base_layer(one, []) == built
        if os.getuid() != 0:
            pytest.skip("the other user: not run here: only root can be another user")
        assert base_layer(other, [*NOBODY, program("faketime"), "2031-01-02 03:04:05"]) == built


@ARCHIVES
def test_oci_1_no_member_names_a_user_a_time_or_this_machine(archive: Archive) -> None:
    node = os.uname().nodename.encode() if len(os.uname().nodename) >= 6 else b"\0"  # a shorter one is there by chance
    for layer in archive.manifest["layers"]:
        with tarfile.open(archive.path) as outer:
            blob = outer.extractfile("blobs/sha256/" + layer["digest"][7:])
            assert blob is not None
            with tarfile.open(fileobj=blob) as tar:
                members = tar.getmembers()
        assert {(m.mtime, m.uname, m.gname) for m in members} == {(0, "", "")}
        assert {(m.uid, m.gid) for m in members} <= {(0, 0), (65532, 65532)}
        names = [m.name.encode() for m in members]
        assert names == sorted(names) and not [name for name in names if name.startswith(b"/") or node in name]
    text = json.dumps([archive.manifest, archive.blob(archive.config_digest), archive.read("index.json")])
    for word in (node.decode(), str(ROOT), os.path.expanduser("~"), "execroot"):
        assert word not in text, word
