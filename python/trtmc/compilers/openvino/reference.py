"""What each own operation means, in numpy: one plain function per operation, float32 throughout.

Written for clarity, so that the C++ kernels, the walker's tests and a reader can agree on the numbers. Sums run in
float64 and are rounded once; a kernel may differ by the rounding of its own summation order.
"""

from __future__ import annotations

import math

import numpy as np

WEIGHTS: dict[str, np.dtype] = {"f16": np.dtype(np.float16), "bf16": np.dtype(np.uint16), "f32": np.dtype(np.float32)}


def weight_matrix(raw: np.ndarray, weight_type: str, rows: int, columns: int) -> np.ndarray:
    """Raw checkpoint bytes as a float32 matrix."""
    stored = raw.view(WEIGHTS[weight_type]).reshape(rows, columns)
    if weight_type == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float32)


def to_bfloat16(x: np.ndarray) -> np.ndarray:
    """Rounds float32 to the nearest bfloat16, halves to even, and gives it back as float32."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def embedding_gather(ids: np.ndarray, table: np.ndarray) -> np.ndarray:
    """ids [...] -> [..., n]; an id outside the table is an error."""
    if ids.size and (ids.min() < 0 or ids.max() >= len(table)):
        raise IndexError(f"id {int(ids.min() if ids.min() < 0 else ids.max())} is outside a table of {len(table)} rows")
    return table[ids]


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float) -> np.ndarray:
    """Each consecutive block of len(weight) elements of the last axis by itself."""
    blocks = x.reshape(*x.shape[:-1], -1, weight.size).astype(np.float64)
    root = np.sqrt((blocks * blocks).mean(-1, keepdims=True) + epsilon)
    return (blocks / root * weight).reshape(x.shape).astype(np.float32)


def linear(
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray | None = None,
    residual: np.ndarray | None = None,
    compute: str = "f32",
) -> np.ndarray:
    """x W^T (+ bias) (+ residual); `bf16` rounds activations and weights first."""
    if compute == "bf16":
        x, weight = to_bfloat16(x), to_bfloat16(weight)
    y = x @ weight.T
    y = y if bias is None else y + bias
    return (y if residual is None else y + residual).astype(np.float32)


def gated_activation(gate: np.ndarray, up: np.ndarray, activation: str) -> np.ndarray:
    """activation(gate) * up."""
    g = gate.astype(np.float64)
    if activation == "silu":
        value = g / (1.0 + np.exp(-g))
    elif activation == "quick_gelu":
        value = g / (1.0 + np.exp(-1.702 * g))
    elif activation == "mish":
        value = g * np.tanh(np.log1p(np.exp(g)))
    elif activation == "relu":
        value = np.maximum(g, 0.0)
    elif activation == "gelu":
        value = 0.5 * g * (1.0 + np.vectorize(math.erf, otypes=[np.float64])(g / math.sqrt(2.0)))
    elif activation == "gelu_tanh":
        value = 0.5 * g * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (g + 0.044715 * g**3)))
    else:
        raise ValueError(f"unknown activation '{activation}'")
    return (value * up).astype(np.float32)


def rotate(x: np.ndarray, positions: np.ndarray, cos: np.ndarray, sin: np.ndarray, style: str) -> np.ndarray:
    """x [B, T, heads, D]: the first 2 * cos.shape[1] elements of each head turn, the rest stays."""
    turned = 2 * cos.shape[1]
    c, s = cos[positions][:, :, None, :], sin[positions][:, :, None, :]
    head, rest = x[..., :turned], x[..., turned:]
    if style == "half":
        a, b = head[..., : turned // 2], head[..., turned // 2 :]
        out = np.concatenate([a * c - b * s, b * c + a * s], -1)
    else:
        a, b = head[..., 0::2], head[..., 1::2]
        out = np.stack([a * c - b * s, b * c + a * s], -1).reshape(head.shape)
    return np.concatenate([out, rest], -1).astype(np.float32)


def update_cache(cache: np.ndarray, rows: np.ndarray, write_indices: np.ndarray) -> None:
    """Writes rows [B, T, heads, D] into cache [B, heads, S, D] from row write_indices[b] on, in place."""
    for b, start in enumerate(write_indices):
        if start < 0 or start + rows.shape[1] > cache.shape[2]:
            raise IndexError(f"rows {start}..{start + rows.shape[1]} don't fit a cache of {cache.shape[2]} rows")
        cache[b, :, start : start + rows.shape[1]] = rows[b].swapaxes(0, 1)


def attend(
    q: np.ndarray, k_cache: np.ndarray, v_cache: np.ndarray, kv_lengths: np.ndarray, scale: float, window: int = 0
) -> np.ndarray:
    """q [B, T, NQ, D] over caches [B, NK, S, D]: query t sees key j <= t + length - T. No key at all gives zeros."""
    batch, count, heads, width = q.shape
    group = heads // k_cache.shape[1]
    out = np.zeros((batch, count, heads, width), np.float32)
    for b, length in enumerate(kv_lengths):
        for h in range(heads):
            keys, values = k_cache[b, h // group, :length], v_cache[b, h // group, :length]
            scores = (q[b, :, h].astype(np.float64) @ keys.T.astype(np.float64)) * scale
            last = np.arange(count)[:, None] + int(length) - count
            columns = np.arange(int(length))[None, :]
            seen = columns <= last
            if window:
                seen &= columns > last - window
            scores = np.where(seen, scores, -np.inf)
            live = seen.any(1)
            weights = np.exp(scores[live] - scores[live].max(1, keepdims=True))
            out[b, live, h] = (weights / weights.sum(1, keepdims=True)) @ values
    return out


def gather_rows(x: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Rows of [B, T, H] by flat index b * T + t."""
    flat = x.reshape(-1, x.shape[-1])
    if rows.size and (rows.min() < 0 or rows.max() >= len(flat)):
        raise IndexError(f"a wanted row is outside the {len(flat)} rows at hand")
    return flat[rows]
