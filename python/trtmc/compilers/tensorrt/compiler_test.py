"""Plans for every target that this machine can build for, and what the compiler says when TensorRT refuses."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from trtmc.compilers import CompileOptions, find_compiler
from trtmc.compilers.tensorrt import plan
from trtmc.compilers.tensorrt.failure import mentioned_layers
from trtmc.compilers.tensorrt.profiles import ProfileMode, engine_profiles
from trtmc.core.build import NetworkBuild, build_network
from trtmc.core.contract import Limits
from trtmc.core.errors import MissingComponent, ResourceError, TrtmcError
from trtmc.core.profiles import decoder_profiles
from trtmc.core.target import named_target, named_targets
from trtmc.ops.lowering.api import trt
from trtmc.testing import tiny_llama, tiny_qwen3

RTX = sorted(name for name, target in named_targets().items() if target.compiler == "tensorrt_rtx")


def small(folder: Path, precision: str = "fp16", make=tiny_llama) -> NetworkBuild:
    model = make(hidden_size=64, num_hidden_layers=1).write(folder / "model")
    return build_network(model, precision=precision, max_sequence=64)


def options(target: str, scratch: Path | None = None, **values: str) -> CompileOptions:
    return CompileOptions(named_target(target), values, scratch)


@pytest.mark.parametrize("target", RTX)
def test_a_plan_for_every_target(tmp_path: Path, target: str) -> None:
    build = small(tmp_path)
    engine = find_compiler("tensorrt_rtx").compile(build, CompileOptions(named_target(target)))
    data = b"".join(engine.chunks())
    assert len(data) == engine.length == build.report.facts["engine_bytes"] > 100_000
    assert engine.contract.inputs == build.contract.inputs and engine.contract.outputs == build.contract.outputs
    assert [p.name for p in engine.contract.profiles] == ["context", "generation"]
    assert engine.contract.report["network_layers"]["KV_CACHE_UPDATE"] == 2
    assert [p.name for p in build.report.phases][-2:] == ["configure", "compile"]


def test_inputs_and_outputs_are_row_major(tmp_path: Path) -> None:
    build = small(tmp_path)
    find_compiler("tensorrt_rtx").compile(build, options("sm_89"))
    ends = [build.network.get_input(i) for i in range(build.network.num_inputs)]
    ends += [build.network.get_output(i) for i in range(build.network.num_outputs)]
    assert {tensor.allowed_formats for tensor in ends} == {1 << int(trt.TensorFormat.LINEAR)}


def test_qwen_in_bfloat16(tmp_path: Path) -> None:
    build = small(tmp_path, "bf16", tiny_qwen3)
    assert find_compiler("tensorrt_rtx").compile(build, CompileOptions(named_target("sm_80"))).length > 100_000


def test_tensorrt_s_own_words_and_the_layer(tmp_path: Path) -> None:
    build = small(tmp_path, "fp32")
    with pytest.raises(TrtmcError) as caught:
        find_compiler("tensorrt_rtx").compile(build, CompileOptions(named_target("sm_75")))
    assert caught.value.code == "compiler.tensorrt_refused"
    assert "for sm_75 at layer 'model.layers.0.self_attn." in caught.value.message
    assert "FP32 GEMM is not supported" in caught.value.message
    assert "driver" not in caught.value.message, "the machine has none, which is not why the build failed"


def test_weights_stand_in_the_plan_once(tmp_path: Path) -> None:
    model = tiny_llama(hidden_size=512, intermediate_size=1408, num_attention_heads=8).write(tmp_path / "m", "F16")

    def extra(profiles: str) -> float:
        build = build_network(model, max_sequence=64)
        engine = find_compiler("tensorrt_rtx").compile(build, options("sm_89", profiles=profiles))
        return engine.length / build.report.facts["constant_bytes"] - 1

    found = {mode: extra(mode) for mode in ("shared", "exact", "single")}
    print(found)
    assert found["single"] < found["shared"] < found["exact"]
    assert found["exact"] - found["shared"] > 0.5, "two thirds of a decoder layer's weights were there twice"


def test_profiles_of_an_engine() -> None:
    declared = decoder_profiles(Limits(1, 64))
    shared = engine_profiles(declared, ProfileMode.SHARED)
    assert shared[0] == declared[0]
    assert {k: v.to_json() for k, v in shared[1].dims.items()} == {
        "batch": [1, 1, 1],
        "sequence": [1, 1, 2],
        "rows": [1, 1, 2],
    }
    assert engine_profiles(declared, ProfileMode.EXACT) == declared
    (single,) = engine_profiles(declared, ProfileMode.SINGLE)
    assert single == declared[0]
    batched = decoder_profiles(Limits(4, 64))
    assert engine_profiles(batched, ProfileMode.SHARED) == batched, "a dynamic batch keeps one copy anyhow"


def test_a_plan_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    build = small(tmp_path)
    monkeypatch.setattr(plan, "write_all", full)
    with pytest.raises(ResourceError, match=r"can't write the plan \(No space left on device\); free space"):
        find_compiler("tensorrt_rtx").compile(build, options("sm_89", scratch=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_unknown_option() -> None:
    with pytest.raises(
        TrtmcError, match="option 'profiles' of compiler 'tensorrt_rtx' is one of shared, exact, single"
    ):
        find_compiler("tensorrt_rtx").chosen(options("sm_89", profiles="three"))


def test_names_inside_names() -> None:
    class Layer:
        def __init__(self, name: str) -> None:
            self.name = name

    class Network:
        layers = ("a/matmul", "layers.1/a/matmul", "b")
        num_layers = 3

        def get_layer(self, index: int) -> Layer:
            return Layer(self.layers[index])

    assert mentioned_layers(Network(), "operation 'layers.1/a/matmul' fails") == ["layers.1/a/matmul"]


def test_enterprise_tensorrt_without_its_package() -> None:
    with pytest.raises(MissingComponent, match="needs the Python package 'tensorrt'"):
        find_compiler("tensorrt")
