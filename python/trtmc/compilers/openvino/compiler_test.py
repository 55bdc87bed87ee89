"""The compiler as a whole: options, contract, streaming, determinism."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers import CompileOptions, compiler_names, find_compiler
from trtmc.compilers.openvino.compiler import OpenVinoCompiler
from trtmc.compilers.openvino.engine_file import read_engine
from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.compilers.openvino.testing import TARGET, TestNetwork, compile_network
from trtmc.compilers.openvino.testing_decoder import DecoderShape, TinyDecoder
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError, ResourceError, UsageError

DECODER = TinyDecoder(DecoderShape())


def _double(net: TestNetwork) -> None:
    x = net.input("x", DType.F32, (-1, 3))
    net.output("y", net.trt.add_elementwise(x, x, trt.ElementWiseOperation.SUM))


def test_a_decoder_is_fused_by_default_and_anything_else_is_not() -> None:
    assert b'version="trtmc"' in compile_network(DECODER).text
    assert b'version="trtmc"' not in compile_network(_double).text


@pytest.mark.parametrize("kernels", ["trtmc", "openvino"])
def test_caches_are_float32_in_the_final_contract(kernels: str) -> None:
    contract = compile_network(DECODER, kernels=kernels).contract
    types = {spec.name: spec.dtype for spec in contract.inputs + contract.outputs}
    assert types["k_cache_0"] is types["v_out_1"] is DType.F32
    assert types["input_ids"] is DType.I64
    assert [(s.input, s.output) for s in contract.state][:2] == [("k_cache_0", "k_out_0"), ("v_cache_0", "v_out_0")]
    assert contract.report["kernels"] == kernels


def test_compute_is_written_into_every_linear() -> None:
    text = compile_network(DECODER, compute="bf16").text
    assert text.count(b'compute="bf16"') == text.count(b'type="Linear"') == 15


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"kernel": "trtmc"}, "'kernel'"),
        ({"kernels": "fast"}, "'fast'"),
        ({"kernels": "openvino", "compute": "bf16"}, "'compute'"),
    ],
)
def test_wrong_options_are_refused_by_name(options: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError, match=named) as caught:
        compile_network(DECODER, **options)
    assert caught.value.code == "compiler.option"


def test_state_that_the_network_does_not_have_is_an_error() -> None:
    network = TestNetwork()
    DECODER(network)
    source = network.source()

    class Lying:
        network = source.network
        report = source.report
        contract = type(source.contract)(**{**vars(source.contract), "state": ()})

    with pytest.raises(InternalError, match="k_cache_0") as caught:
        OpenVinoCompiler().compile(Lying(), CompileOptions(TARGET))
    assert caught.value.code == "engine.state"


def test_writing_streams_the_announced_bytes_and_leaves_nothing_behind_on_failure(tmp_path: Path) -> None:
    engine = compile_network(DECODER)
    engine.write(tmp_path / "llm.engine")
    data = (tmp_path / "llm.engine").read_bytes()
    assert len(data) == engine.length
    assert bytes(read_engine(data)[0]) == engine.text
    assert [p.name for p in tmp_path.iterdir()] == ["llm.engine"]
    (tmp_path / "taken").mkdir()
    with pytest.raises(ResourceError, match="taken") as caught:
        engine.write(tmp_path / "taken")
    assert caught.value.code == "engine.write"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["llm.engine", "taken"]


def test_the_bytes_outlive_everything_else() -> None:
    """Views of the weights are all that is left of a network here; its own memory must still be there."""
    expected = b"".join(bytes(chunk) for chunk in compile_network(DECODER).chunks())
    views = list(compile_network(DECODER).chunks())
    gc.collect()
    np.full(1_000_000, 85, np.uint8)
    assert b"".join(views) == expected


PROGRAM = """
import hashlib
from trtmc.compilers.openvino.testing import compile_network
from trtmc.compilers.openvino.testing_decoder import DecoderShape, TinyDecoder
for kernels in ("trtmc", "openvino"):
    digest = hashlib.sha256()
    for chunk in compile_network(TinyDecoder(DecoderShape(qk_norm=True, bias=True)), kernels=kernels).chunks():
        digest.update(chunk)
    print(digest.hexdigest())
"""


def test_the_same_bytes_in_any_process_and_folder(tmp_path: Path) -> None:
    results = set()
    for seed in ("0", "1", "2"):
        folder = tmp_path / seed
        folder.mkdir()
        path = os.pathsep.join(str(Path(p).absolute()) for p in sys.path)
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        results.add(done.stdout)
    assert len(results) == 1


@pytest.mark.parametrize("kernels", ["trtmc", "openvino"])
def test_compiling_and_streaming_copies_no_weights(kernels: str) -> None:
    """64 MB of constants pass through with less than 4 MB of new memory, Python's and numpy's taken together."""
    network = TestNetwork()
    TinyDecoder(DecoderShape(vocab=1_400_000))(network)
    source, size = network.source(), 0
    tracemalloc.start()
    engine = OpenVinoCompiler().compile(source, CompileOptions(TARGET, {"kernels": kernels}))
    for chunk in engine.chunks():
        size += len(chunk)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == engine.length > 64_000_000
    assert peak < 4_000_000


def test_no_path_of_the_machine_gets_into_an_engine() -> None:
    text = compile_network(DECODER).text
    assert str(Path.home()).encode() not in text
    assert b".py" not in text


@pytest.mark.parametrize("kernels", ["trtmc", "openvino"])
def test_chunks_rollback_and_one_by_one_agree(kernels: str) -> None:
    engine = compile_network(DECODER, kernels=kernels)
    runner = open_engine(b"".join(engine.chunks()))
    prompt = [3, 17, 5, 28, 1, 0, 9]
    session = DecoderSession(runner, engine.contract)
    whole = session.step([prompt], all_rows=True)[0]
    session.rollback(3)
    np.testing.assert_allclose(session.step([prompt[3:]], all_rows=True)[0], whole[3:], rtol=1e-4, atol=1e-5)
    session.rollback(0)
    single = [session.step([[token]])[0] for token in prompt]
    np.testing.assert_allclose(single, whole, rtol=1e-4, atol=1e-5)
    session.rollback(0)
    in_chunks = session.greedy(prompt, 6, chunk=3)
    session.rollback(0)
    assert in_chunks == session.greedy(prompt, 6)


def test_compilers_by_name() -> None:
    assert compiler_names() == ("openvino", "tensorrt", "tensorrt_rtx")
    with pytest.raises(UsageError, match="'tpu'"):
        find_compiler("tpu")
