"""Downloads from a hub that runs here: what arrives, what is resumed, and what each failure says."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from trtmc.checkpoints.hub import HubModel, download
from trtmc.core.errors import ExitCode, TrtmcError

REVISION = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = bytes(range(256)) * 4096
FILES = {"config.json": b'{"a": 1}', "model.safetensors": WEIGHTS}
PINS = {name: hashlib.sha256(data).hexdigest() for name, data in FILES.items()}


class Hub(ThreadingHTTPServer):
    """Serves FILES below /org/model/resolve/REVISION; `faults` makes the next answers go wrong."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.faults: list[str] = []
        self.requests: list[tuple[str, str | None, str | None]] = []
        self.elsewhere = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Hub

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        self.server.requests.append((name, self.headers.get("Range"), self.headers.get("Authorization")))
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault.isdigit():
            self.send_error(int(fault))
        elif fault == "redirect":
            self.send_response(302)
            self.send_header("Location", f"{self.server.elsewhere}{self.path}")
            self.end_headers()
        elif self.path != f"/org/model/resolve/{REVISION}/{name}" or name not in FILES:
            self.send_error(404)
        else:
            self._send(FILES[name], fault)

    def _send(self, data: bytes, fault: str) -> None:
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and fault != "ignore-range" else 0
        if start > len(data):
            return self.send_error(416)
        if fault == "wrong":
            data = bytes(len(data))
        body = data[start:]
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(body)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "cut" else body)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    for name in ("HF_ENDPOINT", "HF_TOKEN", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    yield from _serve(Hub())


@pytest.fixture
def other() -> Iterator[Hub]:
    yield from _serve(Hub())


def _serve(server: Hub) -> Iterator[Hub]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def _model(hub: Hub, **changes: object) -> HubModel:
    return HubModel(**({"endpoint": hub.url, "model": "org/model", "revision": REVISION, "files": PINS} | changes))  # type: ignore[arg-type]


def _get(model: HubModel, out: Path) -> list[float]:
    pauses: list[float] = []
    download(model, out, pause=pauses.append)
    return pauses


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_arrive(hub: Hub, tmp_path: Path) -> None:
    assert _get(_model(hub), tmp_path / "out") == []
    assert _contents(tmp_path / "out") == FILES


def test_endpoint_from_the_environment(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    _get(_model(hub, endpoint=""), tmp_path / "out")
    assert _contents(tmp_path / "out") == FILES


def test_files_that_are_there_are_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    _get(_model(hub), tmp_path)
    hub.requests.clear()
    (tmp_path / "config.json").write_bytes(b"changed since")
    _get(_model(hub), tmp_path)
    assert [name for name, _, _ in hub.requests] == ["config.json"]
    assert _contents(tmp_path) == FILES


@pytest.mark.parametrize("faults", [["", "cut"], ["", "cut", "cut"], ["", "500", "cut", "503"], ["", "429"]])
def test_an_interrupted_download_goes_on(hub: Hub, tmp_path: Path, faults: list[str]) -> None:
    hub.faults = list(faults)
    assert len(_get(_model(hub), tmp_path)) == len(faults) - 1
    assert _contents(tmp_path) == FILES
    if "cut" in faults:
        assert hub.requests[-1][1] is not None, "it started from the beginning again"


def test_a_hub_that_ignores_ranges_starts_over(hub: Hub, tmp_path: Path) -> None:
    hub.faults = ["", "cut", "ignore-range"]
    _get(_model(hub), tmp_path)
    assert _contents(tmp_path) == FILES


@pytest.mark.parametrize("rest", [b"not a part of it", bytes(len(WEIGHTS)), bytes(len(WEIGHTS) + 9)])
def test_a_leftover_that_does_not_fit_is_replaced(hub: Hub, tmp_path: Path, rest: bytes) -> None:
    (tmp_path / ".model.safetensors.partial").write_bytes(rest)
    _get(_model(hub), tmp_path)
    assert _contents(tmp_path) == FILES


def test_wrong_content_is_never_kept(hub: Hub, tmp_path: Path) -> None:
    hub.faults = ["", "wrong"]
    with pytest.raises(
        TrtmcError, match=rf"model\.safetensors: its SHA-256 is \w+, pinned is {PINS['model.safetensors']}"
    ) as caught:
        _get(_model(hub), tmp_path)
    assert (caught.value.code, caught.value.exit_code) == ("hub.wrong_hash", ExitCode.BAD_INPUT)
    assert _contents(tmp_path) == {"config.json": FILES["config.json"]}


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        ("404", "hub.not_found", "no such file"),
        ("401", "hub.forbidden", "HF_TOKEN"),
        ("403", "hub.forbidden", "HF_TOKEN"),
        ("410", "hub.refused", "410"),
    ],
)
def test_refusals_are_not_retried(hub: Hub, tmp_path: Path, fault: str, code: str, said: str) -> None:
    hub.faults = [fault]
    with pytest.raises(TrtmcError, match=said) as caught:
        _get(_model(hub), tmp_path)
    assert caught.value.code == code
    assert f"{hub.url}/org/model/resolve/{REVISION}/config.json" in caught.value.message
    assert len(hub.requests) == 1
    assert _contents(tmp_path) == {}


def test_an_unknown_file_is_not_found(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(TrtmcError, match=r"other\.json: there is no such file"):
        _get(_model(hub, files={"other.json": "0" * 64}), tmp_path)


def test_giving_up_keeps_what_arrived(hub: Hub, tmp_path: Path) -> None:
    hub.faults = ["", "cut", "cut", "cut", "cut"]
    with pytest.raises(TrtmcError, match="cut off after") as caught:
        _get(_model(hub), tmp_path)
    assert (caught.value.code, caught.value.exit_code) == ("hub.unreachable", ExitCode.RESOURCE)
    kept = (tmp_path / ".model.safetensors.partial").stat().st_size
    assert kept == len(WEIGHTS) * 15 // 16
    hub.requests.clear()
    _get(_model(hub), tmp_path)
    assert hub.requests == [("model.safetensors", f"bytes={kept}-", None)]
    assert _contents(tmp_path) == FILES


def test_nobody_there(hub: Hub, tmp_path: Path) -> None:
    hub.shutdown()
    hub.server_close()
    with pytest.raises(TrtmcError, match="refused; tried 4 times"):
        _get(_model(hub), tmp_path)


def test_the_token_stays_with_the_hub(hub: Hub, other: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    hub.elsewhere, hub.faults = other.url, ["redirect", "redirect"]
    _get(_model(hub), tmp_path)
    assert {authorization for _, _, authorization in hub.requests} == {"Bearer secret"}
    assert {authorization for _, _, authorization in other.requests} == {None}
    assert _contents(tmp_path) == FILES


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"revision": "main"}, "hub.revision"),
        ({"revision": REVISION[:-1]}, "hub.revision"),
        ({"model": "model"}, "hub.model"),
        ({"model": "../model"}, "hub.model"),
        ({"files": {"config.json": "abc"}}, "hub.sha256"),
        ({"files": {"../config.json": "0" * 64}}, "checkpoint.file_name"),
        ({"endpoint": ""}, "hub.endpoint"),
        ({"endpoint": "file:///tmp"}, "hub.endpoint"),
    ],
)
def test_what_is_not_exact_is_refused_at_once(hub: Hub, tmp_path: Path, changes: dict[str, object], code: str) -> None:
    with pytest.raises(TrtmcError) as caught:
        _get(_model(hub, **changes), tmp_path / "out")
    assert caught.value.code == code
    assert hub.requests == []
    assert os.listdir(tmp_path) == []
