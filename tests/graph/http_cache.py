"""An HTTP cache on the loopback interface that can be told to fail or to lie; Bazel's own protocol: GET and PUT of
/ac/HASH and /cas/HASH.

It counts what it is asked, and knows nothing of builds.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Mood(Enum):
    """How the cache answers."""

    HONEST = "honest"
    CUTS = "cuts blobs at half"
    SWAPS = "answers with another blob of the same size"
    PAGES = "answers 200 with an error page"
    STALLS = "does not answer"
    BREAKS = "answers 500"


_PAGE = b"<html><body>Please log in.</body></html>"


@dataclass
class Cache:
    """The server's state; `mood` may be changed while it runs."""

    folder: Path
    url: str = ""
    mood: Mood = Mood.HONEST
    #: Blobs below this size are answered honestly in every mood.
    threshold: int = 0
    asked: Counter[str] = field(default_factory=Counter)
    stop: threading.Event = field(default_factory=threading.Event)

    def place(self, path: str) -> Path:
        """The file behind a path of the protocol, laid out as Bazel's disk cache: one can serve as the other."""
        kind, _, key = path.strip("/").partition("/")
        return self.folder / kind / key[:2] / key


def _handler(cache: Cache) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Silence."""

        def _answer(self, status: int, body: bytes = b"") -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            """A blob, or what the mood makes of it."""
            kind = self.path.strip("/").partition("/")[0]
            place = cache.place(self.path)
            if not place.is_file():
                cache.asked["miss"] += 1
                return self._answer(404)
            body = place.read_bytes()
            if cache.mood is Mood.HONEST or len(body) < cache.threshold:
                cache.asked["hit"] += 1
                return self._answer(200, body)
            cache.asked["fault"] += 1
            if cache.mood is Mood.STALLS:
                cache.stop.wait(30)
                return None
            if cache.mood is Mood.BREAKS:
                return self._answer(500, _PAGE)
            if cache.mood is Mood.PAGES:
                return self._answer(200, _PAGE)
            if kind == "ac":
                return self._answer(200, body)  # a signed index, so to speak: only contents are lied about
            return self._answer(200, body[: len(body) // 2] if cache.mood is Mood.CUTS else bytes(len(body)))

        def do_PUT(self) -> None:
            """Keeps a blob."""
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if cache.mood is not Mood.HONEST:
                return self._answer(500)
            place = cache.place(self.path)
            place.parent.mkdir(parents=True, exist_ok=True)
            temporary = place.with_name(f"{place.name}.{threading.get_ident()}.{time.monotonic_ns()}")
            temporary.write_bytes(body)
            temporary.replace(place)
            cache.asked["put"] += 1
            return self._answer(200)

    return Handler


@contextmanager
def serve(folder: Path) -> Iterator[Cache]:
    """A running cache; ends with the block."""
    folder.mkdir(parents=True, exist_ok=True)
    cache = Cache(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(cache))
    server.daemon_threads = True
    cache.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield cache
    finally:
        cache.stop.set()
        server.shutdown()
        server.server_close()
