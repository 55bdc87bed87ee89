"""Heads of odd sizes: TensorRT compiles the padded network, and on the CPU it gives what the unpadded one gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from trtmc.compilers import CompileOptions, find_compiler
from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.compilers.tensorrt.head_size import needs_padding, pad_heads
from trtmc.core.build import NetworkBuild, build_network
from trtmc.core.dtype import DType
from trtmc.core.target import named_target
from trtmc.ops.lowering.text import layer_counts
from trtmc.testing import tiny_llama


def odd(folder: Path, head: int, precision: str) -> NetworkBuild:
    sizes = {"hidden_size": head * 4, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
    model = tiny_llama(**sizes).write(folder / f"model{head}")
    return build_network(model, precision=precision, max_sequence=32)


@pytest.mark.parametrize(
    ("head", "precision", "target"), [(12, "fp16", "sm_75"), (20, "bf16", "sm_89"), (100, "fp16", "sm_120")]
)
def test_tensorrt_compiles_it(tmp_path: Path, head: int, precision: str, target: str) -> None:
    build = odd(tmp_path, head, precision)
    engine = find_compiler("tensorrt_rtx").compile(build, CompileOptions(named_target(target)))
    assert engine.length > 100_000
    assert engine.contract.report["padded_attentions"] == 2
    assert engine.contract.inputs == build.contract.inputs, "caches keep the model's own head size"


def test_the_same_numbers(tmp_path: Path) -> None:
    """In float16 weights with float32 sums, as the CPU computes: padding adds exact zeros to every sum."""

    def logits(padded: bool) -> np.ndarray:
        build = odd(tmp_path, 12, "fp16")
        keepalive = pad_heads(build.network) if padded else []
        assert len(keepalive) == (2 if padded else 0)
        engine = find_compiler("openvino").compile(
            build, CompileOptions(named_target("cpu_x86_64"), {"kernels": "openvino"})
        )
        session = DecoderSession(open_engine(b"".join(engine.chunks())), engine.contract)
        return np.concatenate([session.step([[3, 1, 4, 1, 5]]), session.step([[9]])])

    plain, padded = logits(False), logits(True)
    assert np.abs(plain).max() > 0.1
    np.testing.assert_allclose(padded, plain, rtol=1e-5, atol=1e-5)


def test_only_what_needs_it_is_padded(tmp_path: Path) -> None:
    assert not needs_padding(DType.F32, 12) and not needs_padding(DType.F16, 8) and not needs_padding(DType.BF16, 4)
    assert needs_padding(DType.F16, 12) and needs_padding(DType.BF16, 100)
    build = odd(tmp_path, 16, "fp16")
    before = layer_counts(build.network)
    assert pad_heads(build.network) == []
    assert layer_counts(build.network) == before
