"""Rotary position embedding: reading its configuration and computing its tables.

Both spellings are read: `rope_parameters` (Transformers 5) and `rope_theta` with `rope_scaling` (before). Implemented
types are default, linear, llama3, and dynamic, which within `max_position_embeddings` equals default; the others are
refused by name. Tables are computed as the oracle does, in float32 steps, so that late positions agree too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput
from trtmc.core.precision import convert
from trtmc.core.weights import ConstantData
from trtmc.ops import Tensor
from trtmc.ops import functional as F

IMPLEMENTED = ("default", "linear", "llama3", "dynamic")


@dataclass(frozen=True)
class RopeConfig:
    """What determines the inverse frequencies; fields beyond `theta` belong to the type that uses them."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_positions: int = 0


def read_rope_config(config: StrictConfig, *, max_positions: int, default_theta: float = 10000.0) -> RopeConfig:
    """Reads either spelling; both at once must agree on theta and give the scaling once."""
    new, old = config.child("rope_parameters"), config.child("rope_scaling")
    outer = config.number("rope_theta", default=None, above=0)
    config.expect({"partial_rotary_factor": 1.0})
    if new is not None and old is not None:
        raise config.unsupported("rope_scaling", "stands next to 'rope_parameters'; keep one of the two")
    block = old if new is None else new
    inner = None if block is None else block.number("rope_theta", default=None, above=0)
    if block is not None and None not in (outer, inner) and outer != inner:
        raise config.bad("rope_theta", f"is {outer:g}, but '{block.name('rope_theta')}' is {inner:g}; keep one")
    theta = next((t for t in (inner, outer) if t is not None), default_theta)
    return _scaling(block, theta, max_positions)


def _scaling(block: StrictConfig | None, theta: float, max_positions: int) -> RopeConfig:
    if block is None:
        return RopeConfig(theta)
    block.expect({"partial_rotary_factor": 1.0})
    kind = block.choice("rope_type", IMPLEMENTED, default=None)
    legacy = block.choice("type", IMPLEMENTED, default=None)
    if None not in (kind, legacy) and kind != legacy:
        raise block.bad("type", f"is '{legacy}', but '{block.name('rope_type')}' is '{kind}'; keep one")
    kind = kind or legacy or "default"
    if kind == "default":
        return RopeConfig(theta)
    factor = block.number("factor", above=0)
    if kind == "dynamic":
        block.expect({"original_max_position_embeddings": max_positions})
    if kind != "llama3":
        return RopeConfig(theta, kind, factor)
    low, high = block.number("low_freq_factor", above=0), block.number("high_freq_factor", above=0)
    if high <= low:
        raise block.bad("high_freq_factor", f"must be greater than 'low_freq_factor' ({low:g}), found {high:g}")
    original = block.integer("original_max_position_embeddings", default=max_positions, minimum=1)
    return RopeConfig(theta, kind, factor, low, high, original)


def inverse_frequencies(rope: RopeConfig, head_dim: int) -> np.ndarray:
    """float32 [head_dim/2]; refuses parameters that leave the range of float32."""
    with np.errstate(all="ignore"):
        frequencies = _frequencies(rope, head_dim)
    if not np.isfinite(frequencies).all():
        raise BadInput("config.rope", f"config.json: the rotary parameters {rope} give frequencies that are not finite")
    return frequencies


def _frequencies(rope: RopeConfig, head_dim: int) -> np.ndarray:
    exponent = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    frequencies = np.float32(1.0) / np.power(np.float32(rope.theta), exponent)
    if rope.kind == "linear":
        return frequencies / np.float32(rope.factor)
    if rope.kind == "llama3":
        return _llama3(frequencies, rope)
    return frequencies


def _llama3(frequencies: np.ndarray, rope: RopeConfig) -> np.ndarray:
    """Long waves are stretched by `factor`, short ones kept, those between blended."""
    wavelength = np.float32(2 * math.pi) / frequencies
    turns = np.float32(rope.original_positions) / wavelength
    blend = (turns - np.float32(rope.low_freq_factor)) / np.float32(rope.high_freq_factor - rope.low_freq_factor)
    stretched = frequencies / np.float32(rope.factor)
    middle = (1 - blend) * stretched + blend * frequencies
    long, short = rope.original_positions / rope.low_freq_factor, rope.original_positions / rope.high_freq_factor
    return np.where(wavelength > long, stretched, np.where(wavelength < short, frequencies, middle)).astype(np.float32)


@dataclass(frozen=True)
class Rotation:
    """Tables and the positions at hand; `apply` rotates [batch, heads, sequence, head_dim]."""

    cos: ConstantData
    sin: ConstantData
    position_ids: Tensor

    def apply(self, x: Tensor) -> Tensor:
        return F.rotary_embedding(x, self.cos, self.sin, self.position_ids)


class RotaryEmbedding:
    """The cos and sin tables of a model, [positions, head_dim/2], in the network's type."""

    def __init__(self, rope: RopeConfig, head_dim: int, positions: int, dtype: DType) -> None:
        angles = np.arange(positions, dtype=np.float32)[:, None] * inverse_frequencies(rope, head_dim)[None, :]
        self.cos = _table("rotary.cos", np.cos(angles), dtype)
        self.sin = _table("rotary.sin", np.sin(angles), dtype)

    def at(self, position_ids: Tensor) -> Rotation:
        """The rotation for these positions."""
        return Rotation(self.cos, self.sin, position_ids)


def _table(name: str, values: np.ndarray, dtype: DType) -> ConstantData:
    array = np.ascontiguousarray(convert(values.astype(np.float32), DType.F32, dtype, name))
    return ConstantData(name, dtype, array.shape, array)
