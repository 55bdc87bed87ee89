"""Builds engines with the command line, each in a process of its own and under circumstances of its own.

An engine may depend on the checkpoint, the target and the options. Everything in `CIRCUMSTANCES` is something it must
not depend on. Knows nothing of why it might.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trtmc.core.target import named_target
from trtmc.testing import Tiny, tiny_llama, tiny_qwen2, tiny_qwen3

_ADDR_NO_RANDOMIZE = 0x0040000  # linux/personality.h


def one_core() -> None:
    """Leaves a process a single core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def no_randomization() -> None:
    """Libraries, heap and stack lie at the same addresses in every process from now on."""
    if ctypes.CDLL(None).personality(_ADDR_NO_RANDOMIZE) < 0:
        raise OSError("personality is not allowed here")


def many_files() -> None:
    """File numbers of everything that is opened later are higher."""
    for _ in range(50):
        os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)


@dataclass(frozen=True)
class Circumstance:
    """Something about a build that its result must not depend on."""

    name: str
    folder: str = "a"
    environment: Mapping[str, str] = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    linked: bool = False


CIRCUMSTANCES = (
    Circumstance("plain"),
    Circumstance("again"),
    Circumstance("another folder", folder="a folder with a long name/" + "and deeper/" * 12),
    Circumstance("a checkpoint of links", folder="links", linked=True),
    Circumstance(
        "another user", environment={"PYTHONHASHSEED": "3", "LC_ALL": "de_DE.UTF-8", "TZ": "Asia/Tokyo", "HOME": "/"}
    ),
    Circumstance("a large environment", environment={f"PADDING_{i}": "x" * 30_000 for i in range(20)}),
    Circumstance("fixed addresses", before=no_randomization),
    Circumstance("one core, fixed addresses", before=lambda: (one_core(), no_randomization())[0]),
    Circumstance("another system heap", environment={"PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "165"}),
    Circumstance(
        "another processor for libc, many open files",
        environment={"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX512F,-AVX512VL,-ERMS", "OMP_NUM_THREADS": "1"},
        before=many_files,
    ),
)


def checkpoint(family: str) -> Tiny:
    """A tiny model with the shapes that real ones have: grouped heads of 64, two layers, a tied or an own head."""
    sizes = {
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": 512,
    }
    make = {"llama": tiny_llama, "qwen2": tiny_qwen2, "qwen3": tiny_qwen3}[family]
    return make(**sizes, tie_word_embeddings=family != "qwen3")


@dataclass(frozen=True)
class Wanted:
    """What to build."""

    model: Tiny
    precision: str
    max_batch: int
    weights: str = "embedded"
    target: str = "sm_89"


def build(wanted: Wanted, place: Path, circumstance: Circumstance = CIRCUMSTANCES[0]) -> bytes:
    """Writes the checkpoint below `place` and gives the bytes of its engine."""
    folder = place / circumstance.folder
    model = wanted.model.write(folder / "model", "BF16" if wanted.precision == "bf16" else "F16")
    if circumstance.linked:
        model = _hub_cache(model, folder / "cache")
    target = folder / "target.json"
    target.write_text(json.dumps(named_target(wanted.target).to_json()), "utf-8")
    engine, report = folder / "llm.engine", folder / "report.json"
    command = [sys.executable, "-m", "trtmc.cli", "engine", "--quiet"]
    command += ["--family", "llama" if wanted.model.config["model_type"] == "llama" else "qwen"]
    command += ["--checkpoint", str(model), "--target-info", str(target), "--precision", wanted.precision]
    command += ["--max-sequence", "128", "--max-batch", str(wanted.max_batch), "--weights", wanted.weights]
    command += ["--out-engine", str(engine), "--out-contract", str(folder / "llm.json"), "--out-report", str(report)]
    paths = os.pathsep.join(map(os.path.abspath, sys.path))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": paths, **circumstance.environment},
        cwd=folder,
        preexec_fn=circumstance.before,
        close_fds=False,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{circumstance.name}: {done.stderr}"
    assert json.loads(report.read_text("utf-8"))["heap"] == "stable", "the builder's heap is not in place"
    return engine.read_bytes()


def difference(one: bytes, other: bytes) -> str:
    """Where two engines differ, in one line; empty if they do not."""
    if one == other:
        return ""
    places = [at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b]
    first = f", the first at {places[0]:#x}" if places else ""
    return f"{len(one)} and {len(other)} bytes; {len(places)} of the common ones differ{first}"


def _hub_cache(model: Path, cache: Path) -> Path:
    """The checkpoint as downloads lie: links to blobs with other names."""
    blobs, snapshot = cache / "blobs", cache / "snapshots" / "0123"
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for path in model.iterdir():
        (blobs / f"blob of {path.name}").write_bytes(path.read_bytes())
        (snapshot / path.name).symlink_to(f"../../blobs/blob of {path.name}")
    return snapshot
