"""A scheduler for tests, in front of real workers: it sends each action to a worker that has every property the
action asks for.

buildbox-casd runs whatever it is given, whatever properties that asks for. What it lacks is here and nothing else: each
call is passed on as the bytes it is, but for `Execute`, whose action is looked up and routed by its platform
properties. A worker fits if it has each of them with the same value; where none does, the call is refused with
FAILED_PRECONDITION and a sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import grpc

from tools.wire import delimited, fields, part

_API = "/build.bazel.remote.execution.v2."
_EXECUTE = _API + "Execution/Execute"
_BATCH_READ = _API + "ContentAddressableStorage/BatchReadBlobs"
#: Calls that are not one message for one message.
_ANSWERS_STREAM = {
    _API + "Execution/WaitExecution",
    _API + "ContentAddressableStorage/GetTree",
    "/google.bytestream.ByteStream/Read",
}
_ASKS_STREAM = {"/google.bytestream.ByteStream/Write"}
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


def properties_of(platform: bytes) -> dict[str, str]:
    """A Platform message as a dict."""
    pairs = [content for key, content in fields(platform) if key == 1 and isinstance(content, bytes)]
    return {part(pair, 1).decode(): part(pair, 2).decode() for pair in pairs}


@dataclass
class Worker:
    """A machine that runs actions."""

    name: str
    address: str
    properties: dict[str, str]
    channel: grpc.Channel | None = None


@dataclass
class Scheduler:
    """The server's state. The first worker also keeps what all of them share: blobs and results."""

    workers: list[Worker]
    address: str = ""
    #: Who got which action: name of the worker, or "" for a refused one, and what the action asked for.
    routed: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def call(self, worker: Worker, kind: str, method: str) -> Callable[..., object]:
        """A method of a worker; `kind` is grpc's name for its shape."""
        with self.lock:
            if worker.channel is None:
                worker.channel = grpc.insecure_channel(worker.address, options=_UNLIMITED)
        return getattr(worker.channel, kind)(method)

    def blob(self, digest: bytes) -> bytes:
        """A small blob of the shared storage."""
        answer = self.call(self.workers[0], "unary_unary", _BATCH_READ)(delimited(2, digest))
        return part(part(answer, 1), 2)

    def wanted(self, request: bytes) -> dict[str, str]:
        """What the action of an ExecuteRequest asks for: its own platform, or its command's (older clients)."""
        action = self.blob(part(request, 6))
        return properties_of(part(action, 10) or part(self.blob(part(action, 1)), 5))

    def choose(self, wanted: dict[str, str]) -> Worker | None:
        """The first worker that has all of it."""
        chosen = next((worker for worker in self.workers if wanted.items() <= worker.properties.items()), None)
        self.routed.append((chosen.name if chosen else "", wanted))
        return chosen


class _Front(grpc.GenericRpcHandler):
    """Passes calls on."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        method = details.method
        if method == _EXECUTE:
            return grpc.unary_stream_rpc_method_handler(self.execute)
        kind = f"{'stream' if method in _ASKS_STREAM else 'unary'}_{'stream' if method in _ANSWERS_STREAM else 'unary'}"
        handler = getattr(grpc, f"{kind}_rpc_method_handler")
        if kind.endswith("_stream"):
            return handler(lambda request, context: self.stream(self.scheduler.workers[0], method, request, context))
        return handler(lambda request, context: self.one(kind, method, request, context))

    def one(self, kind: str, method: str, request: object, context: grpc.ServicerContext) -> object:
        try:
            return self.scheduler.call(self.scheduler.workers[0], kind, method)(request)
        except grpc.RpcError as error:
            return fail(error, context)

    def stream(self, worker: Worker, method: str, request: bytes, context: grpc.ServicerContext) -> Iterator[object]:
        answers = self.scheduler.call(worker, "unary_stream", method)(request)
        context.add_callback(answers.cancel)
        try:
            yield from answers
        except grpc.RpcError as error:
            fail(error, context)

    def execute(self, request: bytes, context: grpc.ServicerContext) -> Iterator[object]:
        wanted = self.scheduler.wanted(request)
        worker = self.scheduler.choose(wanted)
        if worker is None:
            said = ", ".join(f"{name}={value}" for name, value in sorted(wanted.items()))
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"no worker has the properties {said}")
        yield from self.stream(worker, _EXECUTE, request, context)


def fail(error: grpc.RpcError, context: grpc.ServicerContext) -> None:
    """Answers with a worker's own error, details of missing blobs included."""
    context.set_trailing_metadata([pair for pair in error.trailing_metadata() or () if pair[0].endswith("-bin")])
    context.abort(error.code(), error.details())


@contextmanager
def schedule(*workers: Worker) -> Iterator[Scheduler]:
    """A running scheduler; ends with the block."""
    scheduler = Scheduler(list(workers))
    server = grpc.server(ThreadPoolExecutor(32), handlers=[_Front(scheduler)], options=_UNLIMITED)
    scheduler.address = f"grpc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield scheduler
    finally:
        server.stop(1).wait()
        for worker in scheduler.workers:
            if worker.channel is not None:
                worker.channel.close()
