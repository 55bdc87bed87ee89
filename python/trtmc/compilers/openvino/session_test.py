"""Sessions over the standard form: what OpenVINO's plugin must still recognise in it, and ragged batches.

The plugin's fusions are pattern-picky and lost without a word when a version changes; these counts notice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from trtmc.compilers.openvino.engine_file import read_engine
from trtmc.compilers.openvino.reference_engine import ReferenceEngine
from trtmc.compilers.openvino.session import DecoderSession, OpenVinoRunner, open_engine
from trtmc.compilers.openvino.testing import compile_network
from trtmc.compilers.openvino.testing_decoder import DecoderShape, TinyDecoder
from trtmc.core.dtype import DType

SHAPE = DecoderShape(hidden=256, inner=512, width=64, heads=4, kv_heads=2, vocab=300)


@pytest.mark.parametrize("dtype", [DType.F32, DType.F16, DType.BF16])
def test_the_plugin_still_fuses_norms_and_keeps_narrow_weights(dtype: DType) -> None:
    engine = compile_network(TinyDecoder(replace(SHAPE, dtype=dtype)), kernels="openvino")
    runner = open_engine(b"".join(engine.chunks()))
    assert isinstance(runner, OpenVinoRunner)
    graph = runner.compiled.get_runtime_model()
    kinds: Counter[str] = Counter()
    weights: Counter[str] = Counter()
    for node in graph.get_ops():
        kind = node.get_rt_info()["layerType"].astype(str)
        kinds[kind] += 1
        if kind == "FullyConnected":
            weights[node.input(1).get_element_type().to_string()] += 1
    layers = SHAPE.layers
    assert (kinds["FullyConnected"], kinds["RMS"]) == (7 * layers + 1, 2 * layers + 1)
    small = 2 * layers  # keys and values: below the size from which weights stay narrow
    narrow = {DType.F16: "f16", DType.BF16: "bf16"}.get(dtype)
    expected = {"f32": 7 * layers + 1} if narrow is None else {narrow: 5 * layers + 1, "f32": small}
    assert weights == expected


def test_engines_open_in_the_runner_that_their_operations_need() -> None:
    own, standard = (compile_network(TinyDecoder(DecoderShape()), kernels=k) for k in ("trtmc", "openvino"))
    assert isinstance(open_engine(b"".join(own.chunks())), ReferenceEngine)
    assert isinstance(open_engine(b"".join(standard.chunks())), OpenVinoRunner)
    with pytest.raises(ValueError, match="standard operation"):
        ReferenceEngine(standard.text, read_engine(b"".join(standard.chunks()))[1])


@pytest.mark.parametrize("kernels", ["trtmc", "openvino"])
def test_a_ragged_batch_equals_each_sequence_alone(kernels: str) -> None:
    engine = compile_network(TinyDecoder(DecoderShape()), kernels=kernels)
    runner = open_engine(b"".join(engine.chunks()))
    prompts = [[3, 17, 5, 28, 4], [1, 0, 9, 9, 2], [8, 8, 8, 1, 6]]
    lengths = [5, 2, 3]
    batch = DecoderSession(runner, engine.contract, batch=3)
    batch.step(prompts)
    batch.rollback(lengths)
    together = batch.step([[7, 11], [12, 13], [14, 15]], all_rows=True)
    for row, (prompt, length) in enumerate(zip(prompts, lengths, strict=True)):
        alone = DecoderSession(runner, engine.contract)
        alone.step([prompt[:length]])
        expected = alone.step([[[7, 11], [12, 13], [14, 15]][row]], all_rows=True)[0]
        np.testing.assert_allclose(together[row], expected, rtol=1e-4, atol=1e-5)
