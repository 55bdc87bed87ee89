"""Reading the configuration of rotary position embedding.

Both spellings are read: `rope_parameters` (Transformers 5) and `rope_theta` with `rope_scaling` (before). Implemented
types are default, linear, llama3, yarn, and dynamic, which within `max_position_embeddings` equals default; the others
are refused by name. Knows the keys, not the frequencies that follow from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from trtmc.core.config import StrictConfig


@dataclass(frozen=True)
class RopeConfig:
    """What determines the inverse frequencies; fields beyond `theta` belong to the types that use them."""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    original_positions: int = 0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    attention_factor: float = 1.0

    def reach(self, max_positions: int) -> int:
        """Positions that the model is meant for; yarn goes beyond `max_position_embeddings`."""
        return max(max_positions, int(self.original_positions * self.factor)) if self.kind == "yarn" else max_positions


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
    return RopeConfig(theta) if block is None else _scaling(block, theta, max_positions)


def _scaling(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    block.expect({"partial_rotary_factor": 1.0})
    kind = block.choice("rope_type", _READERS, default=None)
    legacy = block.choice("type", _READERS, default=None)
    if None not in (kind, legacy) and kind != legacy:
        raise block.bad("type", f"is '{legacy}', but '{block.name('rope_type')}' is '{kind}'; keep one")
    return _READERS[kind or legacy or "default"](block, theta, max_positions)


def _default(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    return RopeConfig(theta)


def _linear(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    return RopeConfig(theta, "linear", block.number("factor", above=0))


def _dynamic(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    block.expect({"original_max_position_embeddings": max_positions})
    return RopeConfig(theta, "dynamic", block.number("factor", above=0))


def _llama3(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    factor = block.number("factor", above=0)
    low, high = block.number("low_freq_factor", above=0), block.number("high_freq_factor", above=0)
    if high <= low:
        raise block.bad("high_freq_factor", f"must be greater than 'low_freq_factor' ({low:g}), found {high:g}")
    original = block.integer("original_max_position_embeddings", default=max_positions, minimum=1)
    return RopeConfig(theta, "llama3", factor, original, low_freq_factor=low, high_freq_factor=high)


def _yarn(block: StrictConfig, theta: float, max_positions: int) -> RopeConfig:
    original = block.integer("original_max_position_embeddings", default=max_positions, minimum=1)
    if not block.has_key("factor"):  # Transformers derives a null factor, but wants the key
        raise block.bad("factor", "is missing; state it, or null for 'max_position_embeddings' over the original")
    factor = block.number("factor", default=max_positions / original, above=0)
    fast, slow = block.number("beta_fast", default=32.0, above=0), block.number("beta_slow", default=1.0, above=0)
    if theta == 1.0:
        raise block.bad("rope_theta", "must not be 1 with yarn")
    return RopeConfig(
        theta,
        "yarn",
        factor,
        original,
        beta_fast=fast,
        beta_slow=slow,
        truncate=block.boolean("truncate", default=True),
        attention_factor=_yarn_attention(block, factor),
    )


def _yarn_attention(block: StrictConfig, factor: float) -> float:
    """Stated, or the paper's 0.1 ln(factor) + 1, or the ratio of two such terms."""
    stated = block.number("attention_factor", default=None, above=0)
    mscale, all_dim = (block.number(key, default=None) for key in ("mscale", "mscale_all_dim"))

    def term(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if stated is not None:
        return stated
    if not (mscale and all_dim):
        return term(1.0)
    below = term(all_dim)
    if below == 0:
        raise block.bad("mscale_all_dim", f"makes the attention factor infinite, found {all_dim:g}")
    return term(mscale) / below


_READERS: dict[str, Callable[[StrictConfig, float, int], RopeConfig]] = {
    "default": _default,
    "dynamic": _dynamic,
    "linear": _linear,
    "llama3": _llama3,
    "yarn": _yarn,
}
