"""A mixture of experts: every token goes through its selected experts; their outputs are added by score.

expert(x) = down(swiglu(gate(x), up(x))), each of the three linear with weights [expert, in, out]. The parameters of the
gate: gate up to `limit`, up within +-limit, then gate * sigmoid(alpha * gate) * (up + beta); default: silu(gate) * up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trtmc.testing.oracles.quantize import dequantize, quantize


@dataclass(frozen=True)
class Experts:
    """Weights and, all or none, biases [expert, out]."""

    gate: np.ndarray
    up: np.ndarray
    down: np.ndarray
    biases: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    limit: float = float("inf")
    alpha: float = 1.0
    beta: float = 0.0
    quantized: tuple[str, float] | None = None  # kind and scale of what goes into `down`

    def run(self, x: np.ndarray, selected: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """x [batch, rows, hidden], selected and scores [batch, rows, k]."""
        out = np.zeros(x.shape)
        for b, r, k in np.ndindex(*selected.shape):
            out[b, r] += float(scores[b, r, k]) * self._expert(int(selected[b, r, k]), x[b, r].astype(np.float64))
        return out.astype(np.float32)

    def _expert(self, e: int, x: np.ndarray) -> np.ndarray:
        gate, up, down = (np.zeros(()),) * 3 if self.biases is None else (bias[e] for bias in self.biases)
        g = np.minimum(x @ self.gate[e] + gate, self.limit)
        u = np.clip(x @ self.up[e] + up, -self.limit, self.limit)
        inner = g / (1 + np.exp(-self.alpha * g)) * (u + self.beta)
        if self.quantized is not None:
            kind, scale = self.quantized
            factor = np.array(scale, np.float32)
            inner = dequantize(quantize(inner.astype(np.float32), factor, kind), factor, kind).astype(np.float64)
        return inner @ self.down[e] + down
