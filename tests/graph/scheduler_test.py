"""Where an engine must be compiled on its own GPU, a scheduler is told so: the action runs on a worker with that GPU
and on no other; all else of the same build runs on CPU workers.

The engine is that of //bazel/private/testdata by the product's own rule, with a compiler whose toolchain asks for
the GPU of sm_90 and which is the CPU's in truth. Workers are real; the scheduler in front of them is the tests' own
(tests/graph/scheduler.py), since buildbox-casd alone knows no properties.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.graph.buildbox import programs, worker
from tests.graph.harness import Checkout, Result, sha256

pytest.importorskip("grpc")
from tests.graph.scheduler import Worker, properties_of, schedule
from tools.wire import delimited

DATA = "//bazel/private/testdata:"
ENGINE = DATA + "engine"
ON_GPU = (f"--platforms={DATA}on_gpu", f"--extra_toolchains={DATA}on_gpu_toolchain")
CPU = {"OSFamily": "linux"}
GPU = {"OSFamily": "linux", "gpu": "sm_90"}


def remotely(result: Result) -> set[str]:
    """Kinds of actions that ran on a worker."""
    return {spawn.mnemonic for spawn in result.executed() if spawn.runner == "remote"}


def test_an_action_that_needs_a_gpu_runs_on_no_cpu_worker(tree: Checkout, tmp_path: Path) -> None:
    tree.build(ENGINE)
    right = [sha256(path) for path in tree.files(ENGINE)]
    binaries = programs(tmp_path / "bin")
    with (
        worker(tmp_path / "cpu", binaries) as cpu,
        schedule(Worker("cpu", cpu, CPU), Worker("other gpu", cpu, GPU | {"gpu": "sm_100"})) as scheduler,
    ):
        options = ("--config=remote-exec", f"--remote_executor={scheduler.address}", "--spawn_strategy=remote")
        options += ("--disk_cache=", "--noremote_local_fallback", *ON_GPU)
        tree.bazel("clean")
        refused = tree.bazel("build", *options, ENGINE)
        assert refused.code != 0
        assert "no worker has the properties OSFamily=linux, gpu=sm_90" in refused.text
        assert {"TrtmcCheckpoint", "CppCompile"} <= remotely(refused), "what needs no GPU runs"
        assert {who for who, wanted in scheduler.routed if wanted == CPU} == {"cpu"}
        assert {who for who, wanted in scheduler.routed if wanted == GPU} == {""}

        before = len(scheduler.routed)
        with worker(tmp_path / "gpu", binaries, store=cpu) as gpu:
            scheduler.workers.append(Worker("gpu", gpu, GPU))
            built = tree.build(*options, ENGINE)
        assert remotely(built) == {"TrtmcEngine"}, "the rest is there already"
        assert scheduler.routed[before:] == [("gpu", GPU)]
        assert [sha256(path) for path in tree.files(ENGINE, *ON_GPU)] == right


def test_only_the_compile_action_asks_for_a_gpu(tree: Checkout) -> None:
    def platforms(*options: str) -> dict[str, set[str]]:
        asked = tree.bazel("aquery", "--output=jsonproto", *options, f"mnemonic('Trtmc.*', deps({DATA}bundle))")
        assert asked.code == 0, asked.text
        found: dict[str, set[str]] = {}
        for action in json.loads(asked.stdout)["actions"]:
            found.setdefault(action["mnemonic"], set()).add(action["executionPlatform"].lstrip("@"))
        return found

    for_cpu, for_gpu = platforms(), platforms(*ON_GPU)
    assert for_gpu.pop("TrtmcEngine") == {"//bazel/workers:sm_90"}
    (host,) = for_cpu.pop("TrtmcEngine")
    assert host == "platforms//host:host"
    assert for_cpu == for_gpu == {kind: {host} for kind in for_cpu}
    assert set(for_cpu) == {"TrtmcBundle", "TrtmcCheckpoint", "TrtmcVerify"}


def test_properties_are_read_from_a_message() -> None:
    pairs = [
        delimited(1, delimited(1, name) + delimited(2, value))
        for name, value in [(b"gpu", b"sm_90"), (b"a", b"x" * 200)]
    ]
    assert properties_of(b"".join(pairs)) == {"gpu": "sm_90", "a": "x" * 200}
    assert properties_of(b"") == {}
