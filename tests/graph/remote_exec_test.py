"""Remote execution on a real server, on the loopback interface: every action runs there, and the bytes are those of
a local build.
"""

from __future__ import annotations

from pathlib import Path

from tests.graph.buildbox import programs, worker
from tests.graph.harness import Checkout, checkout, sha256

#: C++, a checkpoint, an engine, a bundle and its check, and an image layer.
TARGETS = ("//bazel/private/testdata:bundle", "//cc/sampling:sampling", "//containers:base")


def test_everything_runs_remotely_and_gives_the_same_bytes(tree: Checkout, tmp_path: Path) -> None:
    with worker(tmp_path / "worker", programs(tmp_path / "bin")) as address, checkout(tmp_path, "client") as client:
        tree.build(*TARGETS)
        options = ("--config=remote-exec", f"--remote_executor=grpc://{address}", "--spawn_strategy=remote")
        options += ("--disk_cache=",)
        result = client.build(*options, *TARGETS)
        kinds = {spawn.mnemonic for spawn in result.executed()}
        assert {"TrtmcCheckpoint", "TrtmcEngine", "TrtmcBundle", "CppCompile", "TrtmcImageLayer"} <= kinds
        assert not [spawn for spawn in result.spawns if spawn.runner not in ("remote", "remote cache hit")]
        for target in TARGETS:
            mine, theirs = tree.files(target), client.files(target)
            assert [sha256(path) for path in mine] == [sha256(path) for path in theirs], target
        client.bazel("clean")
        again = client.build(*options, *TARGETS)
        assert again.spawns and again.executed() == [], "the second build is all remote cache hits"
