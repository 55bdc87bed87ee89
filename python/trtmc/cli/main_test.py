"""The command line as a user meets it: help, exit codes, one line per error, JSON, and nothing left half-written."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from trtmc.cli import main as entry
from trtmc.core.errors import ExitCode
from trtmc.core.target import named_target
from trtmc.testing import tiny_llama

COMMANDS = ("build", "checkpoint", "engine", "network", "pack", "inspect", "verify")


class Result:
    """What a run printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def error(self) -> dict[str, str]:
        return json.loads(self.out)["error"]


Run = Callable[..., Result]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: object) -> Result:
        code = entry.run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return invoke


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return tiny_llama().write(tmp_path / "model")


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("command", [(), *[(c,) for c in COMMANDS]])
def test_help(run: Run, command: tuple[str, ...]) -> None:
    result = run(*command, "--help")
    assert result.code == 0
    assert "Usage: trtmc-build" in result.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_says_what_it_does(command: str) -> None:
    options = [p for p in entry.cli.commands[command].params if isinstance(p, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_help_lists_commands_and_exit_codes(run: Run) -> None:
    text = run("--help").out
    assert all(command in text for command in COMMANDS)
    assert "Exit codes: 0 ok" in text


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("trtmc-build, version 0.")


def test_build_then_inspect_and_verify(run: Run, model: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "x.bundle"
    built = run(model, "-o", bundle, "--precision", "fp16", "--max-sequence", 64, "--json", "-q")
    assert (built.code, built.err) == (0, "")
    value = json.loads(built.out)
    assert value["bytes"] == bundle.stat().st_size
    assert [phase["name"] for phase in value["report"]["components"]["llm"]["phases"]][:3] == [
        "config",
        "weights",
        "network",
    ]
    header = json.loads(run("inspect", bundle, "--json").out)["header"]
    assert (header["family"], header["components"][0]["engines"][0]["options"]["precision"]) == ("llama", "fp16")
    assert header["components"][0]["engines"][0]["contract"]["limits"] == {"max_batch": 1, "max_sequence": 64}
    assert header["text_generation"]["eos_token_ids"] == [2]
    assert value["id"] in run("inspect", bundle).out
    assert json.loads(run("verify", bundle, "--json").out)["id"] == value["id"]
    assert left(tmp_path) == ["model", "x.bundle"]


def test_steps_give_the_same_engine_and_bundle_as_one_go(run: Run, model: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.json"
    target.write_text(json.dumps(named_target("cpu_x86_64").to_json()))
    common = ("--family", "llama", "--checkpoint", model, "--target-info", target)
    engine, contract, report = (tmp_path / name for name in ("llm.engine", "llm.json", "report.json"))
    step = run("engine", *common, "--out-engine", engine, "--out-contract", contract, "--out-report", report)
    assert step.code == 0, step.err
    assert json.loads(report.read_text())["peak_rss_bytes"] > 0
    assert "report" in json.loads(contract.read_text())
    packed = ("--engine", f"llm={engine}", "--contract", f"llm={contract}", "-o", tmp_path / "steps.bundle")
    assert run("pack", *common, *packed).code == 0
    assert run("build", model, "-o", tmp_path / "whole.bundle").code == 0
    assert (tmp_path / "steps.bundle").read_bytes() == (tmp_path / "whole.bundle").read_bytes()


def test_quiet(run: Run, model: Path, tmp_path: Path) -> None:
    result = run(model, "-o", tmp_path / "x.bundle", "-q")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_progress_goes_to_stderr(run: Run, model: Path, tmp_path: Path) -> None:
    result = run(model, "-o", tmp_path / "x.bundle")
    assert result.err.count("trtmc-build: ") >= 4
    assert len(result.out.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "slug", "piece"),
    [
        ((), 2, "cli.usage", "Missing argument 'CHECKPOINT'"),
        (("MODEL",), 2, "cli.usage", "'-o'"),
        (("MODEL", "-o", "X", "--precision", "int3"), 2, "cli.usage", "int3"),
        (("MODEL", "-o", "X", "--option", "kernels"), 2, "cli.key_value", "must look like KEY=VALUE"),
        (("MODEL", "-o", "X", "--option", "a=1", "--option", "a=2"), 2, "cli.key_value", "names 'a' twice"),
        (("MODEL", "-o", "X", "--option", "speed=9"), 2, "compiler.option", "no option 'speed'"),
        (("MODEL", "-o", "X", "--target", "sm_1"), 2, "target.unknown", "known are cpu_x86_64"),
        (("MODEL", "-o", "X", "--family", "gpt9"), 2, "family.unknown", "known are"),
        (("MODEL", "-o", "X", "--max-sequence", "9999"), 2, "limits.max_sequence", "256"),
        (("MODEL", "-o", "/nonexistent/x.bundle"), 2, "output.folder", "/nonexistent"),
        (("MODEL", "-o", "."), 2, "output.is_folder", "name a file"),
        (("/nonexistent", "-o", "X"), 3, "checkpoint.missing", "/nonexistent"),
        (("inspect", "/nonexistent"), 3, "bundle.not_found", "/nonexistent"),
        (("verify", "MODEL/config.json"), 3, "bundle.bad_magic", "config.json"),
    ],
)
def test_errors(run: Run, model: Path, tmp_path: Path, arguments: Any, code: int, slug: str, piece: str) -> None:
    named = [a.replace("MODEL", str(model)).replace("X", str(tmp_path / "x.bundle")) for a in arguments]
    result = run(*named, "--json") if arguments else run("build", "--json")
    assert (result.code, result.error["code"]) == (code, slug)
    assert piece in result.error["message"]
    assert result.err.splitlines()[-1] == f"error: {result.error['message']}"
    assert left(tmp_path) == ["model"]


def test_unsupported_config(run: Run, tmp_path: Path) -> None:
    folder = tiny_llama(quantization_config={"bits": 4}).write(tmp_path / "model")
    result = run(folder, "-o", tmp_path / "x.bundle", "--json")
    assert (result.code, result.error["code"]) == (4, "config.unknown_key")
    assert left(tmp_path) == ["model"]


def test_without_json_nothing_is_printed_on_stdout(run: Run, tmp_path: Path) -> None:
    result = run("inspect", tmp_path / "none")
    assert (result.code, result.out) == (3, "")
    assert result.err.startswith("error: ")


def fail_while_writing(monkeypatch: pytest.MonkeyPatch, failure: BaseException) -> None:
    def chunks(self: object) -> Any:
        yield memoryview(b"half")
        raise failure

    monkeypatch.setattr("trtmc.compilers.openvino.compiler.OpenVinoEngine.chunks", chunks)


@pytest.mark.parametrize(
    ("failure", "code", "slug"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 7, None),
        (KeyboardInterrupt(), 130, "cli.interrupted"),
        (MemoryError(), 7, "cli.memory"),
        (RuntimeError("boom"), 1, "cli.internal"),
    ],
)
def test_failure_in_the_middle_leaves_nothing(
    run: Run,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    code: int,
    slug: str | None,
) -> None:
    fail_while_writing(monkeypatch, failure)
    (tmp_path / "x.bundle").write_bytes(b"older")
    result = run(model, "-o", tmp_path / "x.bundle", "--json", "-q")
    assert result.code == code
    assert slug in (None, result.error["code"])
    assert left(tmp_path) == ["model", "x.bundle"]
    assert (tmp_path / "x.bundle").read_bytes() == b"older"


def test_failure_of_the_engine_command_leaves_nothing(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "target.json").write_text(json.dumps(named_target("cpu_x86_64").to_json()))
    fail_while_writing(monkeypatch, KeyboardInterrupt())
    outputs = ("--out-engine", tmp_path / "llm.engine", "--out-contract", tmp_path / "llm.json")
    common = ("--family", "llama", "--checkpoint", model, "--target-info", tmp_path / "target.json")
    assert run("engine", *common, *outputs).code == 130
    assert left(tmp_path) == ["model", "target.json"]


def test_disk_full_while_packing(run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    result = run(model, "-o", tmp_path / "x.bundle", "--json", "-q")
    assert result.code == 7
    assert "No space left" in result.error["message"]
    assert left(tmp_path) == ["model"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals(model: Path, tmp_path: Path, number: int, code: int) -> None:
    """A real process, stopped while the engine is being written."""
    script = (
        "import os, signal, sys\n"
        "from trtmc.cli import main\n"
        "from trtmc.compilers.openvino.compiler import OpenVinoEngine\n"
        "def chunks(self):\n"
        "    yield memoryview(b'half')\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    yield memoryview(b'rest')\n"
        "OpenVinoEngine.chunks = chunks\n"
        "main.main(sys.argv[1:])\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", script, str(model), "-o", str(tmp_path / "x.bundle"), "-q"]
    done = subprocess.run(command, env=environment, check=False, capture_output=True)
    assert done.returncode == code, done.stderr.decode()
    assert left(tmp_path) == ["model"]


@pytest.mark.parametrize("arguments", [["inspect", "--json"], ["inspect"], ["verify", "--json"]])
def test_an_answer_that_cannot_be_written_is_no_success(
    run: Run, model: Path, tmp_path: Path, arguments: list[str]
) -> None:
    assert run(model, "-o", tmp_path / "x.bundle", "-q").code == 0
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "trtmc.cli", arguments[0], str(tmp_path / "x.bundle"), *arguments[1:]]
    with open(os.devnull, "rb") as closed:  # no place to write to, as a full disk is none
        done = subprocess.run(command, env=environment, check=False, stdout=closed, stderr=subprocess.PIPE)
    assert done.returncode == 7, done.stderr.decode()
    assert done.stderr.startswith(b"error: ") and done.stderr.count(b"\n") == 1


def test_checkpoint_command(run: Run, model: Path, tmp_path: Path) -> None:
    (model / "README.md").write_text("not needed")
    arguments = ("checkpoint", model, "-o", tmp_path / "in", "--source", "wheel:x==1", "--revision", "abc")
    assert run(*arguments).code == 0
    assert left(tmp_path / "in") == ["checkpoint.json", "config.json", "model.safetensors"]
    record = json.loads((tmp_path / "in" / "checkpoint.json").read_text())
    assert (record["version"], record["source"], record["revision"]) == (1, "wheel:x==1", "abc")
    assert record["files"][0]["size"] == (model / "config.json").stat().st_size
    assert run(tmp_path / "in", "-o", tmp_path / "x.bundle").code == 0
    provenance = json.loads(run("inspect", tmp_path / "x.bundle", "--json").out)["header"]["provenance"]
    assert provenance["checkpoint"]["source"] == "wheel:x==1"
    again = run(*arguments, "--json")
    assert (again.code, again.error["code"]) == (2, "output.not_empty")


def test_checkpoint_command_validates_first(run: Run, model: Path, tmp_path: Path) -> None:
    with open(model / "model.safetensors", "ab") as file:
        file.write(b"zz")
    result = run("checkpoint", model, "-o", tmp_path / "in", "--source", "s", "--revision", "r", "--json")
    assert (result.code, result.error["code"]) == (3, "weights.file_length")
    assert left(tmp_path) == ["model"]


def test_the_page_lists_commands_and_exit_codes() -> None:
    page = (Path(__file__).parents[3] / "docs" / "trtmc-build.md").read_text("utf-8")
    assert [c for c in COMMANDS if f"`{c}" not in page and f"trtmc-build {c}" not in page] == []
    assert [int(c) for c in ExitCode if f"\n| {int(c)} |" not in page] == []


def test_without_tensorrt(run: Run, model: Path, tmp_path: Path) -> None:
    """Bundles can be looked at, and a build says which package it lacks."""
    assert run(model, "-o", tmp_path / "x.bundle", "-q").code == 0
    script = "import sys; sys.modules['tensorrt_rtx'] = None\nfrom trtmc.cli import main\nmain.main(sys.argv[1:])\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def without(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        return subprocess.run(command, env=environment, check=False, capture_output=True, text=True)

    assert without("verify", tmp_path / "x.bundle").returncode == 0
    assert without("--help").returncode == 0
    failed = without(model, "-o", tmp_path / "y.bundle", "--json")
    assert (failed.returncode, json.loads(failed.stdout)["error"]["code"]) == (6, "compiler.package_missing")
    assert "needs the Python package 'tensorrt_rtx'" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert left(tmp_path) == ["model", "x.bundle"]
