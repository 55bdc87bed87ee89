"""Non-maximum suppression as TensorRT documents it."""

from __future__ import annotations

import numpy as np


def overlap(a: np.ndarray, b: np.ndarray) -> np.float32:
    """Intersection over union of two boxes, each any pair of diagonal corners; in float32, as the thresholds are."""
    low_a, high_a = np.minimum(a[:2], a[2:]), np.maximum(a[:2], a[2:])
    low_b, high_b = np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])
    sides = np.maximum(np.minimum(high_a, high_b) - np.maximum(low_a, low_b), 0)
    both = np.prod(sides, dtype=np.float32)
    union = np.prod(high_a - low_a, dtype=np.float32) + np.prod(high_b - low_b, dtype=np.float32) - both
    return np.float32(both / union) if union > 0 else np.float32(0)


def suppressed(
    boxes: np.ndarray,
    scores: np.ndarray,
    most: int,
    iou_threshold: float = 0.0,
    score_threshold: float = 0.0,
    centers: bool = False,
) -> np.ndarray:
    """Rows (batch, class, box), by batch, then by falling score; of equal ones the lower class first.

    Boxes [batch, n, 4] or [batch, n, classes, 4]; scores [batch, n, classes].
    """
    rows: list[tuple[int, int, int]] = []
    for batch in range(scores.shape[0]):
        found: list[tuple[float, int, int, int]] = []
        for kind in range(scores.shape[2]):
            corners = boxes[batch] if boxes.ndim == 3 else boxes[batch, :, kind]
            if centers:
                half = corners[:, 2:] / 2
                corners = np.concatenate([corners[:, :2] - half, corners[:, :2] + half], 1)
            kept: list[int] = []
            for box in np.argsort(-scores[batch, :, kind], kind="stable"):
                if len(kept) == most or not scores[batch, box, kind] > np.float32(score_threshold):
                    break
                if all(overlap(corners[box], corners[other]) <= np.float32(iou_threshold) for other in kept):
                    kept.append(int(box))
            found += [(-float(scores[batch, box, kind]), kind, rank, box) for rank, box in enumerate(kept)]
        rows += [(batch, kind, box) for _, kind, _, box in sorted(found)]
    return np.array(rows, np.int64).reshape(-1, 3)
