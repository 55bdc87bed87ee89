"""Test support: a tiny decoder with random weights, written straight in TensorRT layers, with variations.

Independent of the builder's own ops, so the compiler's patterns are tested against a second way of writing a decoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork
from trtmc.core.dtype import DType
from trtmc.core.precision import convert

EW, MM = trt.ElementWiseOperation, trt.MatrixOperation


@dataclass(frozen=True)
class DecoderShape:
    """Odd sizes on purpose; `division` is how the norm divides, `head_dims` how rows are flattened for the head."""

    layers: int = 2
    hidden: int = 24
    heads: int = 4
    kv_heads: int = 2
    width: int = 6
    inner: int = 20
    vocab: int = 29
    rows: int = 16
    bias: bool = False
    qk_norm: bool = False
    norm_after_transpose: bool = False
    tied: bool = True
    interleaved: bool = False
    division: str = "div"
    activation: str = "silu"
    head_rank: int = 2
    dtype: DType = DType.F16
    seed: int = 7


class TinyDecoder:
    """Defines the network on a TestNetwork; every named tensor is as in a decoder's contract."""

    def __init__(self, shape: DecoderShape) -> None:
        self.shape = shape

    def __call__(self, net: TestNetwork) -> None:
        DecoderDefinition(net, self.shape).define()


class DecoderDefinition:
    def __init__(self, net: TestNetwork, shape: DecoderShape) -> None:
        self.test, self.net, self.s = net, net.trt, shape
        self.rng = np.random.default_rng(shape.seed)

    def const(self, array: np.ndarray, dims: tuple[int, ...] | None = None, dtype: DType | None = None) -> Any:
        dtype = dtype or self.s.dtype
        stored = convert(np.asarray(array, np.float32), DType.F32, dtype, "constant")
        return self.test.const(stored, dtype, dims or array.shape)

    def random(self, *dims: int) -> np.ndarray:
        return (self.rng.standard_normal(dims) / np.sqrt(dims[-1])).astype(np.float32)

    def ew(self, a: Any, b: Any, op: Any) -> Any:
        return self.net.add_elementwise(a, b, op).get_output(0)

    def cast(self, x: Any, dtype: DType) -> Any:
        kind = {DType.F32: trt.float32, DType.F16: trt.float16, DType.BF16: trt.bfloat16}[dtype]
        return x if x.dtype == kind else self.net.add_cast(x, kind).get_output(0)

    def shuffle(self, x: Any, dims: tuple[int, ...] | None, first: Any = None, second: Any = None) -> Any:
        layer = self.net.add_shuffle(x)
        if dims is not None:
            layer.reshape_dims = dims
        if first:
            layer.first_transpose = first
        if second:
            layer.second_transpose = second
        return layer.get_output(0)

    def linear(self, x: Any, n: int, bias: bool = False, weight: Any = None) -> Any:
        rank, k = len(x.shape), x.shape[len(x.shape) - 1]
        ones = (1,) * (rank - 2)
        weight = self.const(self.random(n, k), (*ones, n, k)) if weight is None else weight
        y = self.net.add_matrix_multiply(x, MM.NONE, weight, MM.TRANSPOSE).get_output(0)
        return self.ew(y, self.const(self.random(n), (1,) * (rank - 1) + (n,)), EW.SUM) if bias else y

    def rms(self, x: Any) -> Any:
        rank = len(x.shape)
        size, one = x.shape[rank - 1], (1,) * rank
        wide = self.cast(x, DType.F32)
        mean = self.net.add_reduce(
            self.ew(wide, wide, EW.PROD), trt.ReduceOperation.AVG, 1 << (rank - 1), True
        ).get_output(0)
        shifted = self.ew(mean, self.const(np.full(one, 1e-3), one, DType.F32), EW.SUM)
        y = self.divided(wide, shifted, one)
        weight = self.const(1 + 0.1 * self.random(size), (1,) * (rank - 1) + (size,))
        return self.ew(weight, self.cast(y, self.s.dtype), EW.PROD)

    def divided(self, x: Any, shifted: Any, one: tuple[int, ...]) -> Any:
        if self.s.division == "power":
            return self.ew(x, self.ew(shifted, self.const(np.full(one, -0.5), one, DType.F32), EW.POW), EW.PROD)
        root = self.net.add_unary(shifted, trt.UnaryOperation.SQRT).get_output(0)
        if self.s.division == "recip":
            return self.ew(x, self.net.add_unary(root, trt.UnaryOperation.RECIP).get_output(0), EW.PROD)
        if self.s.division == "one_over":
            return self.ew(x, self.ew(self.const(np.ones(one), one, DType.F32), root, EW.DIV), EW.PROD)
        return self.ew(x, root, EW.DIV)

    def heads(self, x: Any, count: int, norm: bool) -> Any:
        s, swap = self.s, (0, 2, 1, 3)
        if not norm:
            return self.shuffle(x, (0, 0, count, s.width), second=swap)
        if s.norm_after_transpose:
            return self.rms(self.shuffle(x, (0, 0, count, s.width), second=swap))
        return self.shuffle(self.rms(self.shuffle(x, (0, 0, count, s.width))), None, first=swap)

    def activated(self, gate: Any) -> Any:
        kinds = {
            "gelu_tanh": trt.ActivationType.GELU_TANH,
            "gelu": trt.ActivationType.GELU_ERF,
            "relu": trt.ActivationType.RELU,
        }
        if self.s.activation in kinds:
            return self.net.add_activation(gate, kinds[self.s.activation]).get_output(0)
        if self.s.activation == "mish":
            layer = self.net.add_activation(gate, trt.ActivationType.SOFTPLUS)
            layer.alpha = layer.beta = 1.0
            tanh = self.net.add_activation(layer.get_output(0), trt.ActivationType.TANH)
            return self.ew(gate, tanh.get_output(0), EW.PROD)
        inner = gate
        if self.s.activation == "quick_gelu":
            inner = self.ew(gate, self.const(np.full((1, 1, 1), 1.702), (1, 1, 1)), EW.PROD)
        return self.ew(self.net.add_activation(inner, trt.ActivationType.SIGMOID).get_output(0), gate, EW.PROD)

    def define(self) -> None:
        s, net = self.s, self.test
        ids, pos = (net.input(n, DType.I64, (-1, -1)) for n in ("input_ids", "position_ids"))
        at, lengths = (net.input(n, DType.I32, (-1,)) for n in ("write_indices", "kv_lengths"))
        wanted = net.input("logit_rows", DType.I64, (-1,))
        angles = np.outer(np.arange(s.rows), 100.0 ** (-np.arange(s.width // 2) / (s.width // 2)))
        tables = self.const(np.cos(angles)), self.const(np.sin(angles))
        embedding = self.const(self.random(s.vocab, s.hidden))
        h = self.net.add_gather(embedding, ids, 0).get_output(0)
        for layer in range(s.layers):
            h = self.ew(h, self.attention(self.rms(h), layer, tables, pos, at, lengths), EW.SUM)
            x = self.rms(h)
            gated = self.ew(self.activated(self.linear(x, s.inner)), self.linear(x, s.inner), EW.PROD)
            h = self.ew(self.linear(gated, s.hidden, s.bias), h, EW.SUM)
        flat = (-1, s.hidden) if s.head_rank == 2 else (-1, 1, s.hidden)
        h = self.rms(self.net.add_gather(self.shuffle(h, flat), wanted, 0).get_output(0))
        weight = None
        if s.tied:
            weight = embedding if s.head_rank == 2 else self.shuffle(embedding, (1, s.vocab, s.hidden))
        y = self.cast(self.linear(h, s.vocab, weight=weight), DType.F32)
        net.output("logits", y if s.head_rank == 2 else self.shuffle(y, (-1, s.vocab)))

    def attention(self, x: Any, layer: int, tables: tuple[Any, Any], pos: Any, at: Any, lengths: Any) -> Any:
        s, net = self.s, self.test
        sizes = [s.heads * s.width, s.kv_heads * s.width, s.kv_heads * s.width]
        q, k, v = (self.linear(x, n, s.bias) for n in sizes)

        def rotated(t: Any) -> Any:
            rotary = self.net.add_rotary_embedding(t, *tables, s.interleaved, s.width)
            rotary.set_input(3, pos)
            return rotary.get_output(0)

        def cached(t: Any, name: str) -> Any:
            cache = net.input(f"{name}_cache_{layer}", s.dtype, (-1, s.kv_heads, s.rows, s.width))
            update = self.net.add_kv_cache_update(cache, t, at, trt.KVCacheMode.LINEAR)
            net.output(f"{name}_out_{layer}", update)
            return update.get_output(0)

        q = rotated(self.heads(q, s.heads, s.qk_norm))
        q = self.ew(q, self.const(np.full((1, 1, 1, 1), 0.4), (1, 1, 1, 1)), EW.PROD)
        k = cached(rotated(self.heads(k, s.kv_heads, s.qk_norm)), "k")
        v = cached(self.heads(v, s.kv_heads, False), "v")
        out = self.net.add_attention_v2(q, k, v, trt.AttentionNormalizationOp.SOFTMAX, trt.CausalMaskKind.LOWER_RIGHT)
        out.decomposable = True
        out.key_value_lengths = lengths
        merged = self.shuffle(out.get_output(0), (0, 0, s.heads * s.width), first=(0, 2, 1, 3))
        return self.linear(merged, s.hidden, s.bias)
