"""`load` and `Pipeline`: the native module with types, defaults and iterators.

Knows nothing of how tokens are made; all of that is C++.
"""

from __future__ import annotations

import contextlib
import json
import queue
import random
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import trtmc_runtime as native
from numpy.typing import NDArray

Prompt = str | Sequence[int]
Messages = Sequence[Mapping[str, Any]]

_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty")
_OPTIONS = ("max_new_tokens", "ignore_eos", "logprobs", "skip_special")


class RuntimeFailure(Exception):
    """A failed call: `code` is a stable slug such as "bundle.bad_magic", `exit_code` what `trtmc` would exit with."""

    def __init__(self, code: str, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.exit_code = exit_code


@dataclass(frozen=True)
class TokenEvent:
    """One generated id. `text` may be empty or hold characters of earlier ids; the last rest of text has id -1."""

    id: int
    text: str
    logprobs: Any = None


@contextlib.contextmanager
def _raising() -> Iterator[None]:
    try:
        yield
    except native.StatusError as error:
        code, exit_code, message = error.args
        raise RuntimeFailure(code, exit_code, message) from None


def load(
    path: str | Path,
    *,
    runtime_root: str | Path | None = None,
    verify: str = "lazy",
    threads: int = 0,
    compute: str = "",
    max_sequence: int = 0,
    device: int | None = None,
    target: str = "",
) -> Pipeline:
    """Loads a bundle for text generation.

    `runtime_root` holds lib/trtmc (default: beside the native module); `verify` is "lazy" or "full"; `compute` names
    faster numerics; 0 means automatic for `threads` and the bundle's limit for `max_sequence`. `target` names one of
    the bundle's targets, `device` the number of a GPU; without both the best target for this machine runs, and a
    RuntimeWarning says so if that is the CPU because the library or driver of this machine's GPU is missing.
    """
    if verify not in ("lazy", "full"):
        raise RuntimeFailure("load.bad_option", 2, f'verify must be "lazy" or "full", found {verify!r}')
    with _raising():
        root = "" if runtime_root is None else str(runtime_root)
        handle = native.open(str(path), root, verify, threads, compute, max_sequence, device, target)
    for message in handle.warnings:
        warnings.warn(message, RuntimeWarning, stacklevel=2)
    return Pipeline(handle)


class Pipeline:
    """A loaded bundle. The cache is kept between calls: a prompt that goes on from the last one costs its new part."""

    def __init__(self, handle: Any) -> None:
        self._native = handle

    @property
    def bundle_id(self) -> str:
        """SHA-256 of the bundle's header."""
        return self._native.bundle_id

    @property
    def family(self) -> str:
        """The family that built the bundle."""
        return self._native.family

    @property
    def target(self) -> str:
        """The target whose engines run here; the bundle may hold others."""
        return self._native.target

    @property
    def vocab_size(self) -> int:
        """Width of the logits."""
        return self._native.vocab_size

    @property
    def max_sequence(self) -> int:
        """Tokens that the cache holds, prompt and answer together."""
        return self._native.max_sequence

    @property
    def eos_token_ids(self) -> list[int]:
        """Ids that end generation."""
        return list(self._native.eos_token_ids)

    def generate(
        self, prompt: Prompt, *, on_token: Callable[[TokenEvent], bool | None] | None = None, **options: Any
    ) -> Any:
        """Generates and returns the result (ids, text, finish_reason, stop_text, logprobs, reused_tokens, timing …).

        Options, by default as the checkpoint says: temperature, top_k, top_p, min_p, repetition_penalty,
        frequency_penalty, presence_penalty, seed; and max_new_tokens=256, stop=(), ignore_eos=False, logprobs=None,
        skip_special=True. `on_token` sees each event; returning False ends generation.
        """
        return self._run(self._ids(prompt), on_token, native.CancelFlag(), options)

    def stream(self, prompt: Prompt, **options: Any) -> Iterator[TokenEvent]:
        """Like `generate`, as an iterator of events. Closing or dropping the iterator ends generation."""
        return self._stream(self._ids(prompt), options)

    def chat(self, messages: Messages, *, tools: Sequence[Any] | None = None, **options: Any) -> Any:
        """Answers a conversation in the checkpoint's own chat format."""
        return self._run(self.encode_chat(messages, tools=tools), None, native.CancelFlag(), options)

    def stream_chat(
        self, messages: Messages, *, tools: Sequence[Any] | None = None, **options: Any
    ) -> Iterator[TokenEvent]:
        """Like `chat`, as an iterator of events."""
        return self._stream(self.encode_chat(messages, tools=tools), options)

    def encode(self, text: str, *, add_special: bool = True, parse_special: bool = True) -> list[int]:
        """Text to ids."""
        with _raising():
            return self._native.encode(text, add_special, parse_special)

    def decode(self, ids: Sequence[int], *, skip_special: bool = True) -> str:
        """Ids to text."""
        with _raising():
            return self._native.decode(list(ids), skip_special)

    def encode_chat(
        self, messages: Messages, *, add_generation_prompt: bool = True, tools: Sequence[Any] | None = None
    ) -> list[int]:
        """A conversation to ids; special tokens inside the messages' content stay plain text."""
        with _raising():
            return self._native.encode_chat(json.dumps(list(messages)), add_generation_prompt, _tools(tools))

    def render_chat(
        self, messages: Messages, *, add_generation_prompt: bool = True, tools: Sequence[Any] | None = None
    ) -> str:
        """A conversation as the text that the chat template makes of it."""
        with _raising():
            return self._native.render_chat(json.dumps(list(messages)), add_generation_prompt, _tools(tools))

    def logits(self, ids: Sequence[int], *, chunk: int = 0) -> NDArray[np.float32]:
        """Logits [len(ids), vocab_size] of a sequence evaluated from an empty cache, `chunk` ids at a time (0: all)."""
        with _raising():
            return self._native.logits(list(ids), chunk)

    def reset(self) -> None:
        """Forgets the cache."""
        with _raising():
            self._native.reset()

    def _ids(self, prompt: Prompt) -> list[int]:
        return self.encode(prompt) if isinstance(prompt, str) else list(prompt)

    def _run(self, ids: list[int], on_token: Any, cancel: Any, options: dict[str, Any]) -> Any:
        sink = None if on_token is None else lambda *event: on_token(TokenEvent(*event))
        with _raising():
            return self._native.generate(ids, self._options(options), sink, cancel)

    def _stream(self, ids: list[int], options: dict[str, Any]) -> Iterator[TokenEvent]:
        events: queue.Queue[TokenEvent | BaseException | None] = queue.Queue()
        cancel = native.CancelFlag()

        def work() -> None:
            try:
                self._run(ids, events.put, cancel, options)
                events.put(None)
            except BaseException as error:  # raised again by the consumer
                events.put(error)

        worker = threading.Thread(target=work, name="trtmc-stream", daemon=True)
        worker.start()
        alive = _Alive()
        finish = weakref.finalize(alive, _finish, cancel, worker)  # at the interpreter's exit, too
        try:
            while (event := events.get()) is not None:
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            finish()

    def _options(self, given: dict[str, Any]) -> Any:
        made = native.GenerationOptions()
        sampling = self._native.default_sampling
        given = dict(given)
        for name in _SAMPLING:
            if (value := given.pop(name, None)) is not None:
                setattr(sampling, name, value)
        seed = given.pop("seed", None)
        sampling.seed = random.getrandbits(32) if seed is None else seed
        stop = given.pop("stop", ())
        made.stop = [stop] if isinstance(stop, str) else list(stop)
        for name in _OPTIONS:
            if name in given:
                setattr(made, name, given.pop(name))
        if given:
            raise RuntimeFailure("generate.bad_option", 2, f"unknown option {sorted(given)[0]!r}")
        made.sampling = sampling
        return made


class _Alive:
    """What a stream's end is tied to."""


def _finish(cancel: Any, worker: threading.Thread) -> None:
    cancel.set()
    worker.join()


def _tools(tools: Sequence[Any] | None) -> str:
    return "" if tools is None else json.dumps(list(tools))
