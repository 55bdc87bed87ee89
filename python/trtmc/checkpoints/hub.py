"""Downloads the files of one model from a hub at an exact revision, each pinned by its SHA-256.

The layout is the one hubs share: `<endpoint>/<model>/resolve/<revision>/<file>`. The endpoint comes from the caller
or from HF_ENDPOINT, the token from HF_TOKEN; none is written here. An interrupted download goes on where it stopped;
a file counts only when its hash is right.

This module knows HTTP and hashes, and nothing about what the files mean.

    download(HubModel("https://…", "org/model", "8c3f…40 digits", {"config.json": "…sha256"}), Path("out"))
"""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trtmc.checkpoints.files import check_file_name
from trtmc.core.errors import BadInput, ResourceError, TrtmcError, UsageError

_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 60.0
_ATTEMPTS = 4
Progress = Callable[[str], None]


@dataclass(frozen=True)
class HubModel:
    """A model of a hub: `files` maps names to SHA-256; an empty endpoint means HF_ENDPOINT."""

    endpoint: str
    model: str
    revision: str
    files: Mapping[str, str]

    def base(self) -> str:
        """The hub's URL, from here or from the environment."""
        endpoint = (self.endpoint or os.environ.get("HF_ENDPOINT", "")).rstrip("/")
        if not endpoint.startswith(("http://", "https://")):
            raise UsageError(
                "hub.endpoint", f"hub endpoint '{endpoint}': set HF_ENDPOINT or pass a URL of http or https"
            )
        return endpoint

    def url(self, name: str) -> str:
        """Where one file is."""
        return f"{self.base()}/{self.model}/resolve/{self.revision}/{urllib.parse.quote(name)}"

    def check(self) -> None:
        """Refuses what is not exact."""
        if not re.fullmatch(r"[0-9a-f]{40}", self.revision):
            raise UsageError(
                "hub.revision", f"{self.model}: revision '{self.revision}' is no commit (40 hexadecimal digits); "
                "branches and tags move"
            )  # fmt: skip
        if not re.fullmatch(r"[\w.-]+/[\w.-]+", self.model) or ".." in self.model:
            raise UsageError("hub.model", f"model '{self.model}': expected organisation/name")
        for name, sha256 in self.files.items():
            check_file_name(name)
            if not re.fullmatch(r"[0-9a-f]{64}", sha256):
                raise UsageError(
                    "hub.sha256", f"{self.model}: the hash of {name} is no SHA-256 (64 hexadecimal digits)"
                )


def download(
    model: HubModel, out: Path, progress: Progress = lambda _: None, pause: Callable[[float], None] = time.sleep
) -> None:
    """Fetches every file into the folder `out`; files that are there with the right hash are kept."""
    model.check()
    model.base()
    out.mkdir(parents=True, exist_ok=True)
    for name in sorted(model.files):
        if (out / name).is_file() and _sha256(out / name) == model.files[name]:
            progress(f"{name}: already here")
            continue
        progress(f"{name}: downloading")
        _fetch(model, name, out / f".{name}.partial", pause)
        (out / f".{name}.partial").replace(out / name)


def _fetch(model: HubModel, name: str, partial: Path, pause: Callable[[float], None]) -> None:
    """Fills `partial`, going on after what an earlier attempt left there."""
    expected, problem = model.files[name], ""
    for attempt in range(_ATTEMPTS):
        if attempt:
            pause(2.0**attempt)
        resumed = partial.stat().st_size if partial.exists() else 0
        try:
            _attempt(model.url(name), partial, resumed)
        except urllib.error.HTTPError as error:
            if error.code == 416 and resumed:  # what is here is longer than the file there
                partial.unlink()
                problem = "what was downloaded before does not fit"
                continue
            if error.code < 500 and error.code != 429:
                raise _refused(model, name, error.code) from None
            problem = f"the hub answered {error.code} {error.reason}"
            continue
        except (http.client.HTTPException, OSError) as error:
            if isinstance(error, OSError) and error.errno in (28, 122):  # ENOSPC, EDQUOT
                raise ResourceError("hub.disk", f"cannot write {partial}: {os.strerror(error.errno)}") from None
            problem = str(getattr(error, "reason", error)) or type(error).__name__
            continue
        found = _sha256(partial)
        if found == expected:
            return
        partial.unlink()
        if not resumed:
            raise BadInput(
                "hub.wrong_hash",
                f"{model.url(name)}: its SHA-256 is {found}, pinned is {expected}; "
                "the pin is wrong, or the file was replaced",
            )
        problem = "what was downloaded before does not fit"
    kept = " (the part that arrived is kept)" if partial.exists() else ""
    raise ResourceError(
        "hub.unreachable", f"{model.url(name)}: {problem}; tried {_ATTEMPTS} times, try again later{kept}"
    )


def _attempt(url: str, partial: Path, resumed: int) -> None:
    request = urllib.request.Request(url)
    token = os.environ.get("HF_TOKEN", "")
    if token:
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    if resumed:
        request.add_header("Range", f"bytes={resumed}-")
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
        going_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {resumed}-")
        if answer.status == 206 and not going_on:
            partial.unlink()
            raise http.client.HTTPException("the hub sent another part than was asked for")
        length = answer.headers.get("Content-Length")
        with partial.open("ab" if going_on else "wb") as file:
            arrived = 0
            while chunk := answer.read(_CHUNK):
                file.write(chunk)
                arrived += len(chunk)
        if length is not None and arrived != int(length):
            raise http.client.HTTPException(f"cut off after {arrived} of {length} bytes")


def _refused(model: HubModel, name: str, code: int) -> TrtmcError:
    url = model.url(name)
    if code == 404:
        return BadInput("hub.not_found", f"{url}: there is no such file, model or revision (404)")
    if code in (401, 403):
        return BadInput(
            "hub.forbidden", f"{url}: access denied ({code}); set HF_TOKEN to a token that may read the model"
        )
    return BadInput("hub.refused", f"{url}: the hub answered {code}")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
