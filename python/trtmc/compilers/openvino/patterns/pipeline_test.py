"""Fused decoders: complete, equal to the standard form, and an error as soon as one pattern is missed."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.compilers.openvino.testing import TestNetwork, compile_network
from trtmc.compilers.openvino.testing_decoder import DecoderDefinition, DecoderShape, TinyDecoder
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported

BASE = DecoderShape()
VARIANTS = {
    "plain": BASE,
    "bias": replace(BASE, bias=True),
    "qk_norm": replace(BASE, qk_norm=True),
    "qk_norm_after_transpose": replace(BASE, qk_norm=True, norm_after_transpose=True),
    "untied": replace(BASE, tied=False),
    "mha": replace(BASE, kv_heads=4),
    "mqa": replace(BASE, kv_heads=1),
    "interleaved": replace(BASE, interleaved=True),
    "power": replace(BASE, division="power"),
    "recip": replace(BASE, division="recip"),
    "one_over": replace(BASE, division="one_over"),
    "gelu_tanh": replace(BASE, activation="gelu_tanh"),
    "gelu": replace(BASE, activation="gelu"),
    "relu": replace(BASE, activation="relu"),
    "quick_gelu": replace(BASE, activation="quick_gelu", dtype=DType.F32),  # 1.702 not rounded to half precision
    "mish": replace(BASE, activation="mish"),
    "head_rank_3": replace(BASE, head_rank=3),
    "fp32": replace(BASE, dtype=DType.F32),
    "bf16": replace(BASE, dtype=DType.BF16),
}
PROMPT = [[3, 17, 5, 28], [1, 0, 9, 9]]


def _logits(shape: DecoderShape, kernels: str) -> list[np.ndarray]:
    """A prompt in one go, two steps at different lengths per sequence, all rows."""
    engine = compile_network(TinyDecoder(shape), kernels=kernels)
    session = DecoderSession(open_engine(b"".join(engine.chunks())), engine.contract, batch=2)
    results = [session.step(PROMPT, all_rows=True)]
    session.rollback([2, 4])
    results.append(session.step([[7], [8]]))
    results.append(session.step([[7, 1, 2], [8, 3, 4]], all_rows=True))
    return results


@pytest.mark.parametrize("name", VARIANTS)
def test_own_operations_equal_standard_ones(name: str) -> None:
    own, standard = (_logits(VARIANTS[name], kernels) for kernels in ("trtmc", "openvino"))
    for a, b in zip(own, standard, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_decoder_becomes_own_operations_only(name: str) -> None:
    shape = VARIANTS[name]
    counts = compile_network(TinyDecoder(shape), kernels="trtmc").report.facts["operations"]
    layers = shape.layers
    expected = {
        "trtmc.Attention": layers,
        "trtmc.EmbeddingGather": 1,
        "trtmc.GatedActivation": layers,
        "trtmc.GatherRows": 1,
        "trtmc.Linear": 7 * layers + 1,
        "trtmc.RmsNorm": (4 if shape.qk_norm else 2) * layers + 1,
        "Parameter": 5 + 2 * layers,
        "Result": 1,
    }
    counts.pop("Const")
    assert counts == dict(sorted(expected.items()))


def test_linears_over_the_same_rows_stand_next_to_each_other() -> None:
    text = compile_network(TinyDecoder(replace(BASE, qk_norm=True, bias=True)), kernels="trtmc").text
    layers = ElementTree.fromstring(text).iter("layer")
    own = [layer.attrib["type"] for layer in layers if layer.attrib["version"] == "trtmc"]
    layer = ["RmsNorm", "Linear", "Linear", "Linear", "RmsNorm", "RmsNorm", "Attention", "Linear"]
    layer += ["RmsNorm", "Linear", "Linear", "GatedActivation", "Linear"]
    assert own == ["EmbeddingGather", *layer, *layer, "GatherRows", "RmsNorm", "Linear"]


def test_a_tied_head_shares_the_embedding_bytes() -> None:
    tied, untied = (compile_network(TinyDecoder(replace(BASE, tied=t)), kernels="trtmc") for t in (True, False))
    assert untied.length - tied.length >= BASE.vocab * BASE.hidden * 2


class _Spoiled(DecoderDefinition):
    """Writes one thing in a way that no pattern knows."""

    spoil = ""

    def activated(self, gate: object) -> object:
        if self.spoil != "activation":
            return super().activated(gate)
        return self.net.add_activation(gate, trt.ActivationType.SOFTSIGN).get_output(0)

    def divided(self, x: object, shifted: object, one: tuple[int, ...]) -> object:
        if self.spoil != "norm":
            return super().divided(x, shifted, one)
        return super().divided(self.net.add_unary(x, trt.UnaryOperation.NEG).get_output(0), shifted, one)

    def heads(self, x: object, count: int, norm: bool) -> object:
        if self.spoil != "heads":
            return super().heads(x, count, norm)
        return self.shuffle(self.shuffle(x, (0, 0, self.s.width, count)), None, first=(0, 3, 1, 2))

    def linear(self, x: object, n: int, bias: bool = False, weight: object = None) -> object:
        y = super().linear(x, n, bias, weight)
        if self.spoil != "linear" or n != self.s.inner:
            return y
        return self.ew(y, self.const(np.full((1, 1, 1), 2.0), (1, 1, 1)), trt.ElementWiseOperation.PROD)


@pytest.mark.parametrize(
    ("spoil", "left"),
    [("activation", "ACTIVATION"), ("norm", "REDUCE"), ("heads", "ATTENTION_OUTPUT"), ("linear", "ELEMENTWISE")],
)
def test_a_missed_pattern_is_an_error_that_names_the_layers(spoil: str, left: str) -> None:
    def define(net: TestNetwork) -> None:
        definition = _Spoiled(net, BASE)
        definition.spoil = spoil
        definition.define()

    with pytest.raises(Unsupported, match=left) as caught:
        compile_network(define, kernels="trtmc")
    assert caught.value.code == "engine.unfused"
    assert "kernels=openvino" in caught.value.message
    compile_network(define, kernels="openvino")
