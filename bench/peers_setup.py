"""Installs the peers that ``make bench`` compares with, each in its own folder under the bench cache.

Knows how to get OpenVINO GenAI, HF Transformers, CTranslate2 and llama.cpp through pip and the system compiler, and how
each of them wants its model. Does not measure anything (see ``run.py``) and never writes into the repository.

A step that fails leaves one line in ``status.json`` ("not run here: why"); the others go on.

    python bench/peers_setup.py --checkpoint FOLDER [--only llama_cpp] [--force]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).absolute().parent
TORCH = "torch==2.13.0"
TRANSFORMERS = "transformers==5.24.0"
LLAMA_CPP_SDIST = "llama-cpp-python==0.3.36"


class SetupError(RuntimeError):
    """A peer could not be installed; the text says which command failed and shows the end of its output."""


def bench_dir() -> Path:
    """The folder that holds everything of the benchmarks: TRTMC_BENCH_DIR, else ~/.cache/trtmc/bench."""
    set_by_user = os.environ.get("TRTMC_BENCH_DIR")
    return Path(set_by_user) if set_by_user else Path.home() / ".cache" / "trtmc" / "bench"


def clean_environment() -> dict[str, str]:
    """The environment without what the build graph's Python sets for itself: each peer has a Python of its own."""
    foreign = ("PYTHON", "RUNFILES", "BAZEL", "BUILD_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}


def run(command: list[str], **kwargs: object) -> str:
    """Runs one command at low priority and gives its output; raises SetupError with the last lines if it fails."""
    kwargs.setdefault("env", clean_environment())
    done = subprocess.run(["nice", "-n", "19", *command], text=True, capture_output=True, check=False, **kwargs)  # type: ignore[call-overload]
    if done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise SetupError(f"`{' '.join(command)}` exited with {done.returncode}:\n{tail}")
    return str(done.stdout)


def make_venv(name: str, packages: list[str]) -> Path:
    """A virtual environment ``venv-NAME`` with the packages; returns its python. Kept if it was finished before."""
    folder = bench_dir() / f"venv-{name}"
    stamp = folder / ".finished"
    wanted = "\n".join(packages)
    if not (stamp.is_file() and stamp.read_text() == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        run([sys.executable, "-m", "venv", str(folder)])
        run([str(folder / "bin" / "pip"), "install", "--quiet", *packages])
        stamp.write_text(wanted)
    return folder / "bin" / "python"


def once(target: Path, make: Callable[[Path], None]) -> Path:
    """Makes ``target`` through a temporary name, unless it is there: a broken attempt never looks finished."""
    if target.exists():
        return target
    draft = target.with_name(target.name + ".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.unlink(missing_ok=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    make(draft)
    draft.rename(target)
    return target


def setup_hf(checkpoint: Path) -> None:
    """HF Transformers on CPU torch: the oracle itself."""
    make_venv("hf", [TORCH, TRANSFORMERS, "safetensors", "tokenizers==0.23.3", "numpy", "sentencepiece"])


def setup_ctranslate2(checkpoint: Path) -> None:
    """CTranslate2: its wheel and a float32 model (it has no 16-bit computation on this kind of CPU)."""
    python = make_venv("ct2", [TORCH, TRANSFORMERS, "ctranslate2==4.8.5", "tokenizers==0.23.3", "numpy"])
    converter = python.with_name("ct2-transformers-converter")

    def convert(draft: Path) -> None:
        run([str(converter), "--model", str(checkpoint), "--output_dir", str(draft), "--quantization", "float32"])

    once(bench_dir() / "models" / "ct2_float32", convert)


def export_openvino(checkpoint: Path, draft: Path) -> None:
    """The usual way to an OpenVINO IR: optimum's exporter, 16-bit weights."""
    python = make_venv("optimum", [TORCH, "optimum-intel[openvino]==1.27.0", "openvino==2026.4.1"])
    command = [str(python.with_name("optimum-cli")), "export", "openvino", "--model", str(checkpoint)]
    run([*command, "--task", "text-generation-with-past", "--weight-format", "fp16", str(draft)])


def setup_openvino_genai(checkpoint: Path) -> None:
    """OpenVINO GenAI with an IR exported by optimum (in an environment of its own: it pins an older Transformers)."""
    make_venv("ov", ["openvino-genai==2026.4.1", "openvino-tokenizers==2026.4.1", "numpy"])
    once(bench_dir() / "models" / "ov_fp16", lambda draft: export_openvino(checkpoint, draft))


def llama_cpp_sources() -> Path:
    """llama.cpp's sources, vendored in the sdist of llama-cpp-python."""

    def fetch(draft: Path) -> None:
        pip = make_venv("lcdl", ["scikit-build-core"]).with_name("pip")
        wheels = bench_dir() / "sdist"
        flags = ["--no-deps", "--no-binary", "llama-cpp-python", "--no-build-isolation"]
        run([str(pip), "download", "--quiet", *flags, LLAMA_CPP_SDIST, "-d", str(wheels)])
        with tarfile.open(next(wheels.glob("llama_cpp_python*.tar.gz"))) as archive:
            archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Debian 12's Python has none
            archive.extractall(draft)

    unpacked = once(bench_dir() / "src-llama-cpp", fetch)
    return next(unpacked.glob("*/vendor/llama.cpp"))


def setup_llama_cpp(checkpoint: Path) -> None:
    """llama.cpp compiled for this very machine, F16 and BF16 models, and our small C++ program over its library."""
    source = llama_cpp_sources()
    build = bench_dir() / "llama-build"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DGGML_NATIVE=ON", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF"]
    options += ["-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF"]
    if not (build / "bin" / "llama-quantize").exists():
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run(["cmake", "-S", str(source), "-B", str(build), *generator, *options])
        run(["cmake", "--build", str(build), "-j2", "--target", "llama", "llama-quantize"])
    python = make_venv("gguf", [TORCH, TRANSFORMERS, "sentencepiece", "numpy"])
    models = bench_dir() / "models"
    convert_script = str(source / "convert_hf_to_gguf.py")
    environment = {**clean_environment(), "PYTHONPATH": str(source / "gguf-py")}

    def to_f16(draft: Path) -> None:
        run(
            [str(python), convert_script, str(checkpoint), "--outtype", "f16", "--outfile", str(draft)], env=environment
        )

    f16 = once(models / "f16.gguf", to_f16)
    quantize = str(build / "bin" / "llama-quantize")

    def to_bf16(draft: Path) -> None:
        run([quantize, str(f16), str(draft), "BF16", "2"])

    once(models / "bf16.gguf", to_bf16)
    libraries = build / "bin"
    program = bench_dir() / "peer_llama_cpp"
    compile_line = ["g++", "-O2", "-std=c++20", str(HERE / "peers" / "llama_cpp.cc"), f"-I{source}/include"]
    compile_line += [f"-I{source}/ggml/include", f"-L{libraries}", "-lllama", "-lggml", "-lggml-base"]
    run([*compile_line, f"-Wl,-rpath,{libraries}", "-o", str(program)])


def setup_roofs(checkpoint: Path) -> None:
    """The two limits of the machine: read bandwidth and multiply-add peak."""
    source = HERE / "roofs.cc"
    run(["g++", "-O3", "-march=native", "-fopenmp", "-std=c++20", str(source), "-o", str(bench_dir() / "roofs")])


@dataclass(frozen=True)
class Step:
    """One peer: its name in the tables and the function that makes it ready."""

    name: str
    make: Callable[[Path], None]


STEPS = (
    Step("roofs", setup_roofs),
    Step("hf", setup_hf),
    Step("openvino_genai", setup_openvino_genai),
    Step("ctranslate2", setup_ctranslate2),
    Step("llama_cpp", setup_llama_cpp),
)


def read_status() -> dict[str, str]:
    """Peer name → "ok" or the reason why it is missing, as the last setup left it."""
    path = bench_dir() / "status.json"
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def setup(checkpoint: Path, only: tuple[str, ...] = ()) -> dict[str, str]:
    """Runs every step (or those named) and records the outcome of each."""
    bench_dir().mkdir(parents=True, exist_ok=True)
    status = read_status()
    for step in STEPS:
        if only and step.name not in only:
            continue
        print(f"bench: preparing {step.name} …", file=sys.stderr, flush=True)
        try:
            step.make(checkpoint)
            status[step.name] = "ok"
        except (SetupError, OSError, StopIteration) as error:
            status[step.name] = f"not run here: {error}"
            print(f"bench: {step.name}: {status[step.name]}", file=sys.stderr, flush=True)
        (bench_dir() / "status.json").write_text(json.dumps(status, indent=2, sort_keys=True) + "\n")
    return status


def main() -> int:
    """Command line face."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True, help="SmolLM2 in the Hugging Face layout")
    parser.add_argument("--only", action="append", default=[], choices=[step.name for step in STEPS])
    arguments = parser.parse_args()
    status = setup(arguments.checkpoint.resolve(), tuple(arguments.only))
    for name, outcome in status.items():
        print(f"{name}: {outcome}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
