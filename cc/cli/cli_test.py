"""The `trtmc` program as a user meets it: output, exit codes, sentences. Over a toy bundle, so no engine is needed."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cc.testing.toy_root import built, copy, make_bundle, make_root


class Tool:
    """bin/trtmc of a runtime root of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.program = make_root(folder)
        self.bundle = make_bundle(folder / "toy.bundle")

    def __call__(self, *arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [self.program, *map(str, arguments)], input=stdin, capture_output=True, cwd=self.folder, timeout=60
        )

    def run(self, *arguments: object) -> dict:
        done = self("run", self.bundle, "--json", *arguments)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def fails(self, exit_code: int, code: str, *arguments: object, stdin: bytes = b"") -> str:
        """Runs with --json, expects this failure in both forms, returns the sentence."""
        done = self(*arguments, "--json", stdin=stdin)
        assert done.returncode == exit_code, (done.stdout, done.stderr)
        error = json.loads(done.stdout)["error"]
        assert error["code"] == code, error
        assert done.stderr.decode() == f"error: {error['message']}\n"
        return error["message"]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Tool:
    return Tool(tmp_path_factory.mktemp("root"))


def test_ids_in_ids_out(tool: Tool) -> None:
    answer = tool.run("--ids", "0,1", "-n", 5)
    assert answer["ids"] == [2, 3, 4, 5, 6]
    assert (answer["prompt_tokens"], answer["generated_tokens"], answer["finish_reason"]) == (2, 5, "length")
    assert answer["bundle"]["runtime_strategy"] == "toy_decoder"
    assert answer["timing"]["first_token_since_start_s"] > 0
    assert answer["peak_memory_bytes"] > 1 << 20


def test_json_shows_the_sampling_order_and_what_was_in_force(tool: Tool) -> None:
    sampling = tool.run("--ids", 0, "--temperature", 0.5, "--seed", 7, "--top-k", 3)["sampling"]
    penalties = ["repetition_penalty", "frequency_penalty", "presence_penalty"]
    assert sampling["order"] == [*penalties, "temperature", "top_k", "top_p", "min_p", "draw"]
    assert (sampling["temperature"], sampling["seed"], sampling["top_k"]) == (0.5, 7, 3)


def test_figures_are_one_line_after_the_text(tool: Tool) -> None:
    done = tool("run", tool.bundle, "--ids", "0", "-n", 3)
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    for word in ("first token", "after start", "prefill 1 tokens", "decode 2 tokens", "tok/s", "peak memory"):
        assert word in line


@pytest.mark.parametrize("value", ["0", "1e-6", "1e-30"])
def test_temperature_zero_and_tiny_is_greedy(tool: Tool, value: str) -> None:
    greedy = tool.run("--ids", 3, "-n", 9)["ids"]
    assert tool.run("--ids", 3, "-n", 9, "--temperature", value)["ids"] == greedy
    more = ("--top-p", 0.9, "--min-p", 0.1, "--seed", 1)
    assert tool.run("--ids", 3, "-n", 9, "--temperature", value, *more)["ids"] == greedy


@pytest.mark.parametrize(
    ("option", "value", "name"),
    [
        ("--temperature", "-1", "temperature"),
        ("--temperature", "nan", "temperature"),
        ("--top-k", "-1", "top_k"),
        ("--top-p", "0", "top_p"),
        ("--min-p", "1.5", "min_p"),
        ("--repetition-penalty", "0", "repetition_penalty"),
        ("--logprobs", "-1", "logprobs"),
        ("--max-new-tokens", "0", "max_new_tokens"),
    ],
)
def test_options_out_of_range_are_named(tool: Tool, option: str, value: str, name: str) -> None:
    code = "generate.bad_option" if name in ("logprobs", "max_new_tokens") else "sampling.bad_option"
    assert name in tool.fails(2, code, "run", tool.bundle, "--ids", 1, f"{option}={value}")


def test_a_seed_repeats_and_wide_top_k_is_off(tool: Tool) -> None:
    def ids(*more: object) -> list[int]:
        return tool.run("--ids", 3, "-n", 30, "--temperature", 9, "--seed", 5, *more)["ids"]

    assert ids() == ids() == ids("--top-k", 0) == ids("--top-k", 26) == ids("--top-k", 2147483647)
    assert ids() != tool.run("--ids", 3, "-n", 30, "--temperature", 9, "--seed", 6)["ids"]


@pytest.mark.parametrize(("asked", "given"), [(0, 0), (1, 1), (26, 26), (27, 26), (1000000, 26)])
def test_any_number_of_logprobs(tool: Tool, asked: int, given: int) -> None:
    (step,) = tool.run("--ids", 3, "-n", 1, "--logprobs", asked)["logprobs"]
    assert len(step["top"]) == given
    if given == 26:
        assert math.isclose(sum(math.exp(t["logprob"]) for t in step["top"]), 1, abs_tol=1e-5)


def test_several_end_tokens(tool: Tool) -> None:
    bundle = make_bundle(tool.folder / "eos.bundle", "--eos", "9", "7")
    done = tool("run", bundle, "--ids", 2, "--json")
    answer = json.loads(done.stdout)
    assert (answer["ids"], answer["finish_reason"]) == ([3, 4, 5, 6, 7], "stop")


def test_dump_logits_whole_and_in_chunks(tool: Tool) -> None:
    whole, parts = tool.folder / "a.npy", tool.folder / "b.npy"
    assert tool("run", tool.bundle, "--ids", "1,2,3", "--dump-logits", whole).returncode == 0
    assert tool("run", tool.bundle, "--ids", "1,2,3", "--dump-logits", parts, "--chunk", 2).returncode == 0
    logits = np.load(whole)
    assert logits.shape == (3, 26)
    assert logits.dtype == np.float32
    assert logits.argmax(-1).tolist() == [2, 3, 4]
    assert np.array_equal(logits, np.load(parts))
    message = tool.fails(
        7, "cli.unwritable", "run", tool.bundle, "--ids", "1", "--dump-logits", tool.folder / "no/x.npy"
    )
    assert "no/x.npy" in message
    (tool.folder / "link.npy").symlink_to("/dev/null")
    tool.fails(2, "cli.no_file", "run", tool.bundle, "--ids", "1", "--dump-logits", tool.folder / "link.npy")
    assert (tool.folder / "link.npy").is_symlink()
    assert not list(tool.folder.glob("*.part"))


def test_capacity(tool: Tool) -> None:
    answer = tool.run("--ids", "1,2,3", "--max-sequence", 5)
    assert (answer["finish_reason"], len(answer["ids"])) == ("capacity", 3)
    ids = ",".join(["1"] * 65)
    message = tool.fails(3, "generate.prompt_too_long", "run", tool.bundle, "--ids", ids)
    assert "65 tokens" in message
    assert "64" in message


@pytest.mark.parametrize("command", [["run", "--ids", "1"], ["run", "--ids", "1", "--json"], ["verify"], ["inspect"]])
def test_an_answer_that_cannot_be_written_is_no_success(tool: Tool, command: list[str]) -> None:
    with open("/dev/null", "rb") as closed:  # no place to write to, as a full disk is none
        arguments = [tool.program, command[0], tool.bundle, *command[1:]]
        done = subprocess.run(arguments, stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 7
    assert b"error: the answer cannot be written" in done.stderr


def test_prompts_that_are_none(tool: Tool) -> None:
    tool.fails(3, "generate.empty_prompt", "run", tool.bundle, "--ids", "")
    tool.fails(3, "generate.empty_prompt", "run", tool.bundle, stdin=b"")
    assert "byte 3 (0xff)" in tool.fails(3, "text.invalid_utf8", "run", tool.bundle, stdin=b"abc\xff")
    assert "banana" in tool.fails(2, "cli.bad_ids", "run", tool.bundle, "--ids", "1,banana")
    assert "26" in tool.fails(3, "generate.bad_token_id", "run", tool.bundle, "--ids", "26")
    tool.fails(4, "generate.no_tokenizer", "run", tool.bundle, "hello")
    tool.fails(4, "generate.no_tokenizer", "chat", tool.bundle, "hello")
    tool.fails(2, "generate.bad_stop", "run", tool.bundle, "--ids", 1, "--stop", "")


def test_usage_errors(tool: Tool) -> None:
    for arguments in ([], ["fly"], ["run"], ["run", tool.bundle, "--no-such-option"], ["run", "x", "--ids", "1", "y"]):
        tool.fails(2, "cli.usage", *arguments)
    assert tool("--help").returncode == 0
    assert b"Exit codes" in tool("run", "--help").stdout
    assert tool("--version").returncode == 0


@pytest.mark.parametrize(
    "name", ["--stop", "--temperature", "--top-k", "--seed", "-n", "--threads", "--device", "--target"]
)
def test_an_empty_value_takes_no_other_word(tool: Tool, name: str) -> None:
    code = "generate.bad_stop" if name == "--stop" else "cli.usage"
    for words in ([f"{name}="], [name, ""]):  # "-n=": the short form takes "=" as its value
        message = tool.fails(2, code, "run", tool.bundle, *words, "--ids", "1")
        assert name.strip("-") in message
    assert "--json takes no value" in tool.fails(2, "cli.usage", "run", tool.bundle, "--json=", "--ids", "1")


def test_an_empty_text_is_a_text(tool: Tool) -> None:
    tool.fails(3, "generate.empty_prompt", "run", tool.bundle, "--prompt=")
    tool.fails(3, "generate.empty_prompt", "run", tool.bundle, "--ids=")
    tool.fails(4, "generate.no_tokenizer", "chat", tool.bundle, "--system=", "hello")
    tool.fails(2, "cli.usage", "run", "", "--ids", "1")
    tool.fails(2, "cli.usage", "run", tool.bundle, "--dump-logits=", "--ids", "1")
    done = tool("run", tool.bundle, "--json", "--", "--stop=")  # after -- all words are arguments
    assert json.loads(done.stdout)["error"]["code"] == "generate.no_tokenizer"


@pytest.mark.parametrize(
    ("arguments", "exit_code", "code", "words"),
    [
        (["--strategy", "banana_decoder"], 6, "load.unknown_strategy", ["banana_decoder", "toy"]),
        (["--compiler", "nothing"], 6, "load.missing_dso", ["libtrtmc_backend_nothing.so", "table"]),
        (["--target", "moon"], 5, "target.mismatch", ["moon", "table"]),
        (["--arch", "riscv64"], 5, "load.wrong_target", ["riscv64"]),
        (["--task", "embedding"], 3, "bundle.inconsistent", ["text_generation"]),
    ],
)
def test_bundles_that_this_runtime_cannot_serve(
    tool: Tool, arguments: list[str], exit_code: int, code: str, words: list[str]
) -> None:
    bundle = make_bundle(tool.folder / "other.bundle", *arguments)
    done = tool("run", bundle, "--ids", "1", "--json")
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (exit_code, code)
    for word in [*words, "other.bundle"]:
        assert word in error["message"]


SM_89 = ["--target", "sm_89", "--compiler", "tensorrt_rtx", "--compute-capability", "8.9"]
NEEDS = "target sm_89 needs an NVIDIA GPU of compute capability 8.9"


def run_on_gpus(tool: Tool, driver: Path, gpus: str | None, *arguments: str) -> tuple[int, dict]:
    """Runs an sm_89 bundle where the driver is a stand-in with these GPUs, or is missing (None)."""
    bundle = make_bundle(tool.folder / "sm_89.bundle", *SM_89)
    driver.mkdir(exist_ok=True)
    if gpus is not None:
        copy(built("cc/gpu/libfake_cuda.so"), driver / "libcuda.so.1")
    done = subprocess.run(
        [tool.program, "run", bundle, "--ids", "1", "--json", *arguments],
        capture_output=True,
        env={"LD_LIBRARY_PATH": str(driver), "TRTMC_FAKE_GPUS": gpus or ""},
        timeout=60,
    )
    error = json.loads(done.stdout)["error"]
    assert done.stderr.decode() == f"error: {error['message']}\n"
    return done.returncode, error


@pytest.mark.skipif(Path("/proc/driver/nvidia/version").exists(), reason="this machine has the driver")
def test_a_gpu_bundle_without_a_driver(tool: Tool, tmp_path: Path) -> None:
    code, error = run_on_gpus(tool, tmp_path / "none", None)
    assert (code, error["code"]) == (5, "load.wrong_target")
    assert f"sm_89.bundle: {NEEDS}; no driver found" in error["message"]


def test_a_gpu_bundle_on_another_gpu(tool: Tool, tmp_path: Path) -> None:
    code, error = run_on_gpus(tool, tmp_path / "h200", "NVIDIA H200/9.0")
    assert (code, error["code"]) == (5, "load.wrong_target")
    assert f"{NEEDS}; GPU 0 (NVIDIA H200) has 9.0" in error["message"]
    code, error = run_on_gpus(tool, tmp_path / "two", "Old/7.5,New/8.9", "--device", "0")
    assert (code, error["code"]) == (5, "load.wrong_target")
    assert f"{NEEDS}; GPU 0 (Old) has 7.5; choose GPU 1" in error["message"]


def test_a_gpu_bundle_where_the_backend_was_not_built(tool: Tool, tmp_path: Path) -> None:
    code, error = run_on_gpus(tool, tmp_path / "ada", "Ada/8.9")
    assert (code, error["code"]) == (6, "load.missing_dso")
    for word in ["libtrtmc_backend_tensorrt.so", "built without TensorRT", "TENSORRT_HOME"]:
        assert word in error["message"]


@pytest.fixture
def fat(tool: Tool, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a bundle for the CPU and sm_89 on a machine with an sm_89 GPU, where no GPU backend is installed."""
    bundle = make_bundle(tool.folder / "fat.bundle", "--and-sm-89")
    copy(built("cc/gpu/libfake_cuda.so"), tmp_path / "libcuda.so.1")

    def run(*arguments: str, gpus: str = "Old/7.5,Ada/8.9") -> subprocess.CompletedProcess[str]:
        env = {"LD_LIBRARY_PATH": str(tmp_path), "TRTMC_FAKE_GPUS": gpus}
        command = [tool.program, "run", bundle, "--ids", "1", "-n", "1", *arguments]
        return subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)

    return run


def test_the_cpu_instead_of_a_gpu_that_fits_is_told(fat: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = fat("--json")
    answer = json.loads(done.stdout)
    (warning,) = answer["warnings"]
    assert (done.returncode, answer["bundle"]["target"], warning["code"]) == (0, "table", "load.gpu_unused")
    assert done.stderr == f"warning: {warning['message']}\n"
    for word in ("running on the CPU", "GPU 1 (Ada) would fit", "libtrtmc_backend_tensorrt.so", "TENSORRT_HOME"):
        assert word in warning["message"]
    assert "warning: running on the CPU" in fat().stderr


def test_no_warning_where_the_cpu_is_right(fat: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    for done in (fat("--json", gpus="NVIDIA H200/9.0"), fat("--json", "--target", "table")):
        assert (done.returncode, done.stderr, json.loads(done.stdout)["warnings"]) == (0, "", [])


@pytest.mark.parametrize(
    ("arguments", "gpus", "exit_code", "code"),
    [
        (["--target", "sm_89"], "Ada/8.9", 6, "load.missing_dso"),
        (["--device", "0"], "Ada/8.9", 6, "load.missing_dso"),
        (["--device", "0"], "NVIDIA H200/9.0", 5, "load.wrong_target"),
        (["--device", "1"], "Ada/8.9", 5, "load.wrong_target"),
        (["--device", "0", "--target", "table"], "Ada/8.9", 2, "load.bad_option"),
        (["--device", "cuda"], "Ada/8.9", 2, "cli.usage"),
    ],
)
def test_asked_for_a_gpu_there_is_no_falling_back(
    fat: Callable[..., subprocess.CompletedProcess[str]], arguments: list[str], gpus: str, exit_code: int, code: str
) -> None:
    done = fat("--json", *arguments, gpus=gpus)
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (exit_code, code)


def test_machine_tells_what_is_here(tool: Tool, tmp_path: Path) -> None:
    copy(built("cc/gpu/libfake_cuda.so"), tmp_path / "libcuda.so.1")
    env = {"LD_LIBRARY_PATH": str(tmp_path), "TRTMC_FAKE_GPUS": "Big One/9.0,Small/8.9"}
    done = subprocess.run([tool.program, "machine", "--json"], capture_output=True, env=env, timeout=60)
    told = json.loads(done.stdout)
    assert [(g["ordinal"], g["name"], g["compute_capability"]) for g in told["gpus"]] == [
        (0, "Big One", "9.0"),
        (1, "Small", "8.9"),
    ]
    assert told["backends"] == ["table"]
    assert told["models"] == ["toy"]
    assert any("built without TensorRT" in one for one in told["missing"])
    copy(built("cc/gpu/libfake_cuda.so"), tool.folder / "lib/trtmc/libtensorrt_rtx.so.1")
    done = subprocess.run([tool.program, "machine", "--json"], capture_output=True, env=env, timeout=60)
    assert str(tool.folder / "lib/trtmc/libtensorrt_rtx.so.1") in json.loads(done.stdout)["tensorrt"]
    text = subprocess.run([tool.program, "machine"], capture_output=True, env=env, timeout=60).stdout.decode()
    for word in ("Big One, compute capability 9.0", "backends   table", "no GPU backend"):
        assert word in text
    tool.fails(6, "load.no_library_folder", "machine", "--runtime-root", tmp_path)


def test_missing_libraries(tool: Tool, tmp_path: Path) -> None:
    other = Tool(tmp_path)
    (tmp_path / "lib/trtmc/libtoy_dependency.so").unlink()
    assert "libtoy_dependency.so" in other.fails(6, "dso.open_failed", "run", other.bundle, "--ids", 1)
    (tmp_path / "lib/trtmc/libtrtmc_backend_table.so").unlink()
    other.fails(6, "load.missing_dso", "run", other.bundle, "--ids", 1)
    (tmp_path / "lib/trtmc/libtrtmc_model_toy.so").unlink()
    other.fails(6, "load.unknown_strategy", "run", other.bundle, "--ids", 1)
    answer = other("run", other.bundle, "--ids", 1, "--json", "--runtime-root", tool.folder)
    assert answer.returncode == 0


def test_corrupt_section_and_cut_file(tool: Tool) -> None:
    good = tool.bundle.read_bytes()
    bad = tool.folder / "bad.bundle"
    bad.write_bytes(good[:-4096] + b"?" + good[-4095:])
    assert "engines/llm.engine" in tool.fails(3, "bundle.section_sha256", "run", bad, "--ids", 1)
    tool.fails(3, "bundle.section_sha256", "verify", bad)
    bad.write_bytes(good[:-1])
    tool.fails(3, "bundle.truncated", "run", bad, "--ids", 1)


def test_a_bundle_without_build_reports_says_so(tool: Tool) -> None:
    assert "has no build reports" in tool.fails(3, "report.missing", "inspect", tool.bundle, "--engine")


def test_inspect_and_verify(tool: Tool) -> None:
    shown = json.loads(tool("inspect", tool.bundle, "--json").stdout)
    assert shown["header"]["runtime_strategy"] == "toy_decoder"
    assert b"toy_decoder" in tool("inspect", tool.bundle).stdout
    verified = json.loads(tool("verify", tool.bundle, "--json").stdout)
    assert (verified["ok"], verified["sections"], verified["id"]) == (True, 1, shown["id"])
    assert b"ok" in tool("verify", tool.bundle).stdout


def test_ctrl_c_ends_with_130(tool: Tool) -> None:
    bundle = make_bundle(tool.folder / "long.bundle", "--max-sequence", "4000000")
    command = [tool.program, "run", bundle, "--ids", "1", "-n", "4000000", "--temperature", "9", "--top-p", ".99"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(1)  # long enough to be generating, far from long enough to be done
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.decode().splitlines()[-1] == "error: interrupted"


def test_ctrl_c_while_the_prompt_is_read(tool: Tool) -> None:
    command = [tool.program, "run", tool.bundle]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        assert process.stderr.read() == b"error: interrupted\n"
