"""Runners: one face for everything that can answer from a bundle, so that every check runs on each of them.

``ReferenceRunner`` executes the CPU engine in Python (numpy for our own operations, OpenVINO for standard ones);
``RuntimeRunner`` is the C++ runtime through ``trtmc.runtime``. Knows how to drive a decoder; knows no thresholds and no
oracle.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trtmc.bundle import read_bundle
from trtmc.bundle.external_weights import external_weights
from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.core.contract import Contract


def find_runtime_root(value: str) -> Path:
    """The runtime's folder from TRTMC_RUNTIME_ROOT: the folder itself, or (from the build graph) all of its files."""
    for word in value.split():
        if word.endswith("/bin/trtmc"):
            return Path(word).absolute().parent.parent
    return Path(value).absolute()


class ModelRunner(Protocol):
    """A loaded bundle that answers with ids and with logits."""

    name: str

    def logits(self, ids: Sequence[int], chunk: int = 0) -> NDArray[np.float32]:
        """Logits [len(ids), vocab] of every position, from an empty cache; fed in chunks (0: in one go)."""

    def greedy(self, ids: Sequence[int], new_tokens: int) -> list[int]:
        """Greedy continuation that ignores end tokens; may reuse what the cache holds of an earlier call."""

    def reused(self) -> int:
        """How many ids of the last prompt came out of the cache."""

    def reset(self) -> None:
        """Forgets the cache."""

    def reload(self) -> ModelRunner:
        """The same bundle, loaded once more."""


class ReferenceRunner:
    """The engine inside a bundle, run step by step in Python."""

    def __init__(self, bundle: Path) -> None:
        self.name = "python"
        self._path = bundle
        self._bundle = read_bundle(bundle, verify="full")
        header = self._bundle.header
        index = next(i for i, target in enumerate(header.targets) if target.compiler == "openvino")
        value = json.loads(header.encode())["components"][0]["engines"][index]
        self._contract = Contract.from_json({**value["contract"], "weights": value["weights"], "report": {}})
        engine = header.components[0].engines[index]
        content = bytes(self._bundle.section(engine.section))
        self._engine = open_engine(content, external=external_weights(self._bundle, engine))
        self._session = DecoderSession(self._engine, self._contract)
        self._held: list[int] = []
        self._reused = 0

    def logits(self, ids: Sequence[int], chunk: int = 0) -> NDArray[np.float32]:
        """All rows, through a session of its own."""
        session = DecoderSession(self._engine, self._contract)
        size = chunk or len(ids)
        parts = [session.step([list(ids[at : at + size])], all_rows=True)[0] for at in range(0, len(ids), size)]
        return np.concatenate(parts)

    def batch_logits(self, rows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Logits [batch, n, vocab] of several sequences of one length at once."""
        session = DecoderSession(self._engine, self._contract, batch=len(rows))
        return session.step(rows, all_rows=True)

    def greedy(self, ids: Sequence[int], new_tokens: int) -> list[int]:
        """Keeps the common start of the cache and evaluates the rest of the prompt."""
        prompt = list(ids)
        kept = 0
        while kept < min(len(self._held), len(prompt) - 1) and self._held[kept] == prompt[kept]:
            kept += 1
        self._session.rollback(kept)
        self._reused = kept
        made = [int(self._session.step([prompt[kept:]])[0].argmax())]
        while len(made) < new_tokens:
            made.append(int(self._session.step([[made[-1]]])[0].argmax()))
        self._held = [*prompt, *made[:-1]]
        return made

    def reused(self) -> int:
        """See ModelRunner."""
        return self._reused

    def reset(self) -> None:
        """See ModelRunner."""
        self._session.rollback(0)
        self._held = []

    def reload(self) -> ReferenceRunner:
        """See ModelRunner."""
        return ReferenceRunner(self._path)


class RuntimeRunner:
    """The C++ runtime, in this process, through its Python module."""

    def __init__(self, bundle: Path, runtime_root: Path, threads: int = 2, compute: str = "") -> None:
        from trtmc import runtime  # only here: the module exists where the C++ part was built

        self.name = "runtime"
        self._path, self._root, self._threads, self._compute = bundle, runtime_root, threads, compute
        self._pipeline: Any = runtime.load(bundle, runtime_root=runtime_root, threads=threads, compute=compute)
        self._reused = 0

    def logits(self, ids: Sequence[int], chunk: int = 0) -> NDArray[np.float32]:
        """See ModelRunner."""
        return np.array(self._pipeline.logits(list(ids), chunk=chunk), dtype=np.float32)

    def greedy(self, ids: Sequence[int], new_tokens: int) -> list[int]:
        """See ModelRunner."""
        result = self._pipeline.generate(list(ids), max_new_tokens=new_tokens, temperature=0, ignore_eos=True)
        self._reused = int(result.reused_tokens)
        return [int(token) for token in result.ids]

    def reused(self) -> int:
        """See ModelRunner."""
        return self._reused

    def reset(self) -> None:
        """See ModelRunner."""
        self._pipeline.reset()

    def reload(self) -> RuntimeRunner:
        """See ModelRunner."""
        return RuntimeRunner(self._path, self._root, self._threads, self._compute)
