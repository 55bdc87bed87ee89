"""Builds that are cut short: Ctrl-C at every stage, a size limit, a full disk. Exit code, message, nothing left."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit.models import tiny
from tests.e2e.kit.product import build, builder_process

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STAGES = ("loading weights", "defining the network", "compiling", "packing")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About 50 MB, so that a signal arrives while there is still work to do."""
    folder = tmp_path_factory.mktemp("large") / "m"
    tiny(folder, "llama", vocab_size=12000, hidden_size=512, intermediate_size=512, num_attention_heads=8)
    return folder


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("number", SIGNALS, ids=["ctrl_c", "terminated", "hung_up"])
@pytest.mark.parametrize("stage", STAGES)
def test_bad_input_a_build_that_is_interrupted(tmp_path: Path, large: Path, stage: str, number: signal.Signals) -> None:
    out = tmp_path / "out"
    out.mkdir()
    process = builder_process([str(large), "-o", str(out / "x.bundle")])
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if stage in line:
            process.send_signal(number)
            break
    rest, errors = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.fail(f"the build was over before the signal at '{stage}' arrived: {seen}{errors}{rest}")
    assert process.returncode == 128 + number
    if number is signal.SIGINT:
        assert "error: interrupted" in errors
    assert left_in(out) == []


@pytest.mark.parametrize("number", SIGNALS, ids=["ctrl_c", "terminated", "hung_up"])
def test_bad_input_a_build_that_is_interrupted_inside_tensorrt(
    tmp_path: Path, large: Path, number: signal.Signals
) -> None:
    """The signal arrives while TensorRT works, in whose callbacks an exception would be lost."""
    out = tmp_path / "out"
    out.mkdir()
    process = builder_process([str(large), "-o", str(out / "x.bundle"), "--target", "sm_89"])
    assert process.stderr is not None
    for line in process.stderr:
        if "compiling" in line:
            break
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number, errors
    assert "packing" not in errors and "Traceback" not in errors
    assert left_in(out) == []


def test_a_job_in_the_background_does_not_hear_ctrl_c(tmp_path: Path) -> None:
    """A shell starts it with the signal ignored, and so it stays while TensorRT works."""
    tiny(tmp_path / "m", "llama")
    command = [str(tmp_path / "m"), "-o", str(tmp_path / "x.bundle"), "--target", "sm_89", "--precision", "fp16"]
    process = builder_process(command, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert process.stderr is not None
    for line in process.stderr:
        if "compiling" in line:
            break
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert (tmp_path / "x.bundle").is_file()


def test_bad_input_an_older_bundle_survives_an_interrupted_build(tmp_path: Path, large: Path) -> None:
    (tmp_path / "x.bundle").write_bytes(b"older")
    process = builder_process([str(large), "-o", str(tmp_path / "x.bundle")])
    assert process.stderr is not None
    next(iter(process.stderr))
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert left_in(tmp_path) == ["x.bundle"]
    assert (tmp_path / "x.bundle").read_bytes() == b"older"


@pytest.mark.parametrize("limit", [4096, 100_000, 30_000_000])
def test_bad_input_a_file_size_limit(tmp_path: Path, large: Path, limit: int) -> None:
    out = tmp_path / "out"
    out.mkdir()
    process = builder_process(
        [str(large), "-o", str(out / "x.bundle"), "--json"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 7, errors
    assert "error: " in errors
    assert str(out) in errors
    assert json.loads(output.splitlines()[-1])["error"]["code"]
    assert left_in(out) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("needs the mount command")
    if done.returncode != 0:
        pytest.skip("needs the right to mount a small tmpfs; the file-size test covers the same path")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_bad_input_a_full_disk(large: Path, small_disk: Path) -> None:
    outcome = build(large, small_disk / "x.bundle")
    assert outcome.exit_code == 7
    assert "No space left" in outcome.stderr
    assert str(small_disk) in outcome.stderr
    assert left_in(small_disk) == []


def test_bad_input_an_output_folder_that_does_not_exist(tmp_path: Path, large: Path) -> None:
    outcome = build(large, tmp_path / "no" / "x.bundle")
    assert outcome.exit_code == 2
    assert str(tmp_path / "no") in outcome.stderr
    assert left_in(tmp_path) == []
