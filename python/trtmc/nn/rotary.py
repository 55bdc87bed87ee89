"""Rotary position embedding: inverse frequencies, and the tables that a network indexes by position.

Computed as the oracle does, in float32 steps, so that late positions agree too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput
from trtmc.core.precision import convert
from trtmc.core.weights import ConstantData
from trtmc.nn.rope_config import RopeConfig
from trtmc.ops import Tensor
from trtmc.ops import functional as F


def inverse_frequencies(rope: RopeConfig, head_dim: int) -> np.ndarray:
    """float32 [head_dim/2]; refuses parameters that leave the range of float32."""
    with np.errstate(all="ignore"):
        frequencies = _frequencies(rope, head_dim)
    if not np.isfinite(frequencies).all():
        raise BadInput("config.rope", f"config.json: the rotary parameters {rope} give frequencies that are not finite")
    return frequencies


def _frequencies(rope: RopeConfig, head_dim: int) -> np.ndarray:
    exponent = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    periods = np.power(np.float32(rope.theta), exponent)
    frequencies = np.float32(1.0) / periods
    if rope.kind == "linear":
        return frequencies / np.float32(rope.factor)
    if rope.kind == "llama3":
        return _llama3(frequencies, rope)
    if rope.kind == "yarn":
        share = _yarn_share(rope, head_dim)
        return np.float32(1.0) / (np.float32(rope.factor) * periods) * (1 - share) + frequencies * share
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


def _yarn_share(rope: RopeConfig, head_dim: int) -> np.ndarray:
    """How much of each frequency is kept: all of the fast ones, none of the slow ones, a ramp between."""

    def index_of(turns: float) -> float:
        return head_dim * math.log(rope.original_positions / (turns * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = index_of(rope.beta_fast), index_of(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001  # the oracle's guard against a ramp of no width
    ramp = (np.arange(head_dim // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
    return 1 - np.clip(ramp, 0, 1)


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
        scale = np.float32(rope.attention_factor)
        self.cos = _table("rotary.cos", np.cos(angles) * scale, dtype)
        self.sin = _table("rotary.sin", np.sin(angles) * scale, dtype)

    def at(self, position_ids: Tensor) -> Rotation:
        """The rotation for these positions."""
        return Rotation(self.cos, self.sin, position_ids)


def _table(name: str, values: np.ndarray, dtype: DType) -> ConstantData:
    array = np.ascontiguousarray(convert(values.astype(np.float32), DType.F32, dtype, name))
    return ConstantData(name, dtype, array.shape, array)
