"""Attention, rotary embedding and KV-cache update.

- no scale inside: queries or keys come scaled; query heads are a multiple of key/value heads, neighbours share one;
- a mask of bools lets True through, one of floats is added;
- causal UPPER_LEFT: key j <= query i. LOWER_RIGHT: j <= i + (keys - queries), where keys is the valid length if lengths
  are given (inferred: the text leaves open which of the two it means);
- a query that sees no key gives zeros.
"""

from __future__ import annotations

import numpy as np

from trtmc.testing.oracles.quantize import dequantize, quantize


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    causal: str = "NONE",
    mask: np.ndarray | None = None,
    lengths: np.ndarray | None = None,
    softmax: bool = True,
    quantized: tuple[str, float] | None = None,
) -> np.ndarray:
    """[batch, heads, rows, width]; `quantized` rounds the normalized scores: (kind, scale)."""
    batch, heads, rows, _ = q.shape
    group, keys = heads // k.shape[1], k.shape[2]
    out = np.zeros((batch, heads, rows, v.shape[3]))
    mask = None if mask is None else np.broadcast_to(mask, (batch, heads, rows, keys))
    for b, h, i in np.ndindex(batch, heads, rows):
        valid = keys if lengths is None else int(lengths[b])
        seen = [j for j in range(valid) if _sees(causal, i, j, rows, valid)]
        if mask is not None and mask.dtype == bool:
            seen = [j for j in seen if mask[b, h, i, j]]
        if not seen:
            continue
        scores = k[b, h // group, seen].astype(np.float64) @ q[b, h, i].astype(np.float64)
        if mask is not None and mask.dtype != bool:
            scores = scores + mask[b, h, i, seen]
        if softmax:
            scores = np.exp(scores - scores.max())
            scores = scores / scores.sum()
        if quantized is not None:
            kind, scale = quantized
            factor = np.array(scale, np.float32)
            scores = dequantize(quantize(scores.astype(np.float32), factor, kind), factor, kind)
        out[b, h, i] = scores @ v[b, h // group, seen].astype(np.float64)
    return out.astype(np.float32)


def _sees(causal: str, i: int, j: int, rows: int, valid: int) -> bool:
    if causal == "UPPER_LEFT":
        return j <= i
    return causal == "NONE" or j <= i + valid - rows


def rotated(
    x: np.ndarray,
    cos: np.ndarray,
    sin: np.ndarray,
    positions: np.ndarray | None = None,
    *,
    interleaved: bool = False,
    width: int = 0,
) -> np.ndarray:
    """x [batch, heads, rows, head] with the first `width` (0: all) elements of each head turned pair by pair.

    Pairs are neighbours if interleaved, else i and i + width / 2. Tables are [positions, width / 2] indexed by position
    [batch, rows], or [batch, rows, width / 2].
    """
    out = x.astype(np.float64).copy()
    width = width or x.shape[3]
    half = width // 2
    for b, h, r in np.ndindex(*x.shape[:3]):
        c, s = (t[positions[b, r]] if positions is not None else t[b, r] for t in (cos, sin))
        for i in range(half):
            first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
            a, e = float(x[b, h, r, first]), float(x[b, h, r, second])
            out[b, h, r, first] = a * c[i] - e * s[i]
            out[b, h, r, second] = e * c[i] + a * s[i]
    return out.astype(np.float32)


def cache_updated(cache: np.ndarray, update: np.ndarray, write_indices: np.ndarray) -> np.ndarray:
    """cache [batch, heads, rows, width] with update [batch, heads, n, width] from row write_indices[b] on.

    What would go past the end is dropped.
    """
    out = cache.copy()
    for b, start in enumerate(write_indices.tolist()):
        for s in range(update.shape[2]):
            if 0 <= start + s < cache.shape[2]:
                out[b, :, start + s] = update[b, :, s]
    return out
