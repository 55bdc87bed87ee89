"""Who takes part in the benchmark: our runtime and the peers, each as a command line and a class of weights.

Rows of one class hold the same weights in the same width, so that their speeds may be compared. Knows where
``peers_setup.py`` puts things; measures nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bench.peers_setup import bench_dir

PEERS = Path(__file__).absolute().parent / "peers"


@dataclass(frozen=True)
class Contestant:
    """One row of the table."""

    name: str
    peer: str  # the step of peers_setup.py that it needs; "" for ourselves
    weights: str  # class of the row: "16-bit" or "32-bit"
    arithmetic: str
    command: tuple[str, ...]


def ours(runtime_root: Path, bundles: dict[str, Path]) -> list[Contestant]:
    """Our rows: each bundle as it is, and the 16-bit one with the faster arithmetic by name."""
    program = str(runtime_root / "bin" / "trtmc")
    python = "python3"
    rows = []
    for name, bundle in bundles.items():
        weights = "32-bit" if name == "fp32" else "16-bit"
        variants: list[tuple[str, str, list[str]]] = [("", "f32", [])]
        if weights == "16-bit":
            variants.append((" bf16", "bf16", ["--compute", "bf16"]))
        for suffix, arithmetic, options in variants:
            label = f"trtmc {name}{suffix}"
            line = (python, str(PEERS / "trtmc_cli.py"), program, str(bundle), label, *options)
            rows.append(Contestant(label, "", weights, arithmetic, line))
    return rows


def peers(checkpoint: Path) -> list[Contestant]:
    """The rows of everybody else."""
    base = bench_dir()
    models = base / "models"

    def python(name: str) -> str:
        return str(base / f"venv-{name}" / "bin" / "python")

    def hf(dtype: str, weights: str) -> Contestant:
        label = f"HF Transformers {dtype}"
        line = (python("hf"), str(PEERS / "hf.py"), str(checkpoint), dtype, label)
        return Contestant(label, "hf", weights, dtype, line)

    def openvino(suffix: str, arithmetic: str, *properties: str) -> Contestant:
        label = f"OpenVINO GenAI fp16{suffix}"
        line = (python("ov"), str(PEERS / "ov_genai.py"), str(models / "ov_fp16"), label, *properties)
        return Contestant(label, "openvino_genai", "16-bit", arithmetic, line)

    def llama(name: str) -> Contestant:
        label = f"llama.cpp {name.upper()}"
        line = (str(base / "peer_llama_cpp"), str(models / f"{name}.gguf"), label)
        return Contestant(label, "llama_cpp", "16-bit", name, line)

    ct2 = (python("ct2"), str(PEERS / "ct2.py"), str(models / "ct2_float32"), str(checkpoint / "tokenizer.json"))
    return [
        openvino("", "bf16"),
        openvino(" f32", "f32", "INFERENCE_PRECISION_HINT=f32"),
        llama("f16"),
        llama("bf16"),
        hf("bfloat16", "16-bit"),
        hf("float16", "16-bit"),
        hf("float32", "32-bit"),
        Contestant("CTranslate2 fp32", "ctranslate2", "32-bit", "f32", (*ct2, "float32", "CTranslate2 fp32")),
    ]
