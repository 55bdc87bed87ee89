"""The Python package fetcher: what it tells pip, and what it says when a file is not the pinned one. No real pip."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from third_party.fetch import pypi


def fake_download(content: bytes):
    """A pip that writes one file."""

    def download(_package: str, _python: str, into: Path) -> Path:
        path = into / "a-1-py3-none-any.whl"
        path.write_bytes(content)
        return path

    return download


def test_a_file_with_the_right_hash_lands_under_its_own_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypi, "download_wheel", fake_download(b"good"))
    pypi.fetch("wheel", "a==1", "3.11", tmp_path, "a-1-py3-none-any.whl", hashlib.sha256(b"good").hexdigest())
    assert [path.name for path in tmp_path.iterdir()] == ["a-1-py3-none-any.whl"]


def test_a_wrong_hash_names_file_expected_found_and_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypi, "download_wheel", fake_download(b"evil"))
    with pytest.raises(pypi.FetchError) as caught:
        pypi.fetch("wheel", "a==1", "3.11", tmp_path, "a-1-py3-none-any.whl", "0" * 64)
    message = str(caught.value)
    assert all(
        part in message for part in ("a-1-py3-none-any.whl", "0" * 64, hashlib.sha256(b"evil").hexdigest(), "make lock")
    )
    assert not list(tmp_path.iterdir())


def test_settings_that_change_the_choice_of_files_are_overruled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONSTRAINT", "/somewhere/constraints.txt")
    monkeypatch.setenv("PIP_NO_BINARY", ":all:")
    monkeypatch.setenv("PIP_FIND_LINKS", "/wheels")
    environment = pypi.environment()
    assert environment["PIP_CONSTRAINT"] == "/dev/null"
    assert "PIP_NO_BINARY" not in environment
    assert environment["PIP_FIND_LINKS"] == "/wheels", "where files lie is the machine's business"


def test_pip_failure_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(pypi, "interpreter", lambda: "/bin/false")
    with pytest.raises(pypi.FetchError, match="pip download nothing==1"):
        pypi.download_wheel("nothing==1", "3.11", tmp_path)


def test_a_bare_virtual_environment_uses_the_pip_of_its_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pypi.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(pypi.sys, "_base_executable", "/usr/bin/base")
    assert pypi.interpreter() == "/usr/bin/base"
    monkeypatch.setattr(pypi.importlib.util, "find_spec", lambda _: object())
    assert pypi.interpreter() == pypi.sys.executable
