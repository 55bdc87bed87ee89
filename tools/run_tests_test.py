"""The closing line of a suite as `make test` reads it, and what it installs meanwhile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import run_tests


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("===== 49 passed, 3 skipped in 500.21s (0:08:20) =====", {"passed": 49, "skipped": 3}),
        ("1 failed, 2 passed, 1 error in 3s", {"failed": 2, "passed": 2}),
        ("== 2 failed, 3 errors, 1 deselected, 1 warning in 0.10s ==", {"failed": 5}),
        ("2 skipped in 0.02s", {"skipped": 2}),
        ("[gw0] [ 50%] PASSED keys_test.py::test_what_passed_in_2s", None),
        ("12.00s call     keys_test.py::test_x", None),
    ],
)
def test_only_the_closing_line_is_counted(line: str, expected: dict[str, int] | None) -> None:
    found = run_tests.closing_counts(line)
    assert (None if found is None else dict(found)) == expected


def test_the_installer_ends_before_the_suites_and_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tools").mkdir()
    installer = tmp_path / "tools" / "setup-containers.sh"
    installer.write_text(
        f"#!/bin/sh\nsleep 0.2; echo installing: some; echo no >&2; : > {tmp_path}/done; exit 1\n", "utf-8"
    )
    installer.chmod(0o755)
    monkeypatch.setattr(run_tests, "REPO", tmp_path)
    with pytest.raises(subprocess.SubprocessError), run_tests.containers():
        raise subprocess.SubprocessError("the build was interrupted")
    assert (tmp_path / "done").exists()
    assert capsys.readouterr().out == "installing: some\nno\n"
