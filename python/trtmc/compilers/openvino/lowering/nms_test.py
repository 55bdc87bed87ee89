"""Non-maximum suppression against the numpy oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorrt_rtx as trt

from trtmc.compilers.openvino.testing import TestNetwork, run
from trtmc.core.dtype import DType
from trtmc.core.errors import Unsupported
from trtmc.testing.oracles.boxes import suppressed

RNG = np.random.default_rng(11)


def _define(boxes: np.ndarray, scores: np.ndarray, most: int, centers: bool = False, limit: int = 0) -> Any:
    def define(net: TestNetwork) -> None:
        given = [net.input(n, DType.F32, v.shape) for n, v in (("boxes", boxes), ("scores", scores))]
        layer = net.trt.add_nms(*given, net.const(np.array(most, np.int32)))
        layer.name = "the boxes"
        layer.set_input(3, net.input("iou", DType.F32, ()))
        layer.set_input(4, net.input("least", DType.F32, ()))
        if centers:
            layer.bounding_box_format = trt.BoundingBoxFormat.CENTER_SIZES
        if limit:
            layer.topk_box_limit = limit
        net.output("chosen", layer)
        net.output("count", layer, 1)

    return define


@pytest.mark.parametrize("centers", [False, True])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("most", [1, 3, 100])
def test_against_the_oracle(centers: bool, per_class: bool, most: int) -> None:
    shape = (2, 20, 3, 4) if per_class else (2, 20, 4)
    boxes = RNG.uniform(0, 1, shape).astype(np.float32)
    scores = RNG.permutation(120).reshape(2, 20, 3).astype(np.float32) / 120
    thresholds = {"iou": np.array(0.3, np.float32), "least": np.array(0.25, np.float32)}
    y = run(_define(boxes, scores, most, centers), boxes=boxes, scores=scores, **thresholds)
    expected = suppressed(boxes, scores, most, 0.3, 0.25, centers)
    np.testing.assert_array_equal(y["chosen"], expected)
    assert int(y["count"]) == len(expected)


def test_thresholds_keep_an_equal_overlap_and_drop_an_equal_score() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.5], [5, 5, 6, 6]]], np.float32)
    scores = np.array([[[0.9], [0.8], [0.5]]], np.float32)
    thresholds = {"iou": np.array(0.5, np.float32), "least": np.array(0.5, np.float32)}
    y = run(_define(boxes, scores, 5), boxes=boxes, scores=scores, **thresholds)
    assert y["chosen"].tolist() == [[0, 0, 0], [0, 0, 1]]


def test_nothing_above_the_threshold() -> None:
    boxes, scores = np.zeros((1, 2, 4), np.float32), np.zeros((1, 2, 1), np.float32)
    thresholds = {"iou": np.array(0.5, np.float32), "least": np.array(0.5, np.float32)}
    y = run(_define(boxes, scores, 5), boxes=boxes, scores=scores, **thresholds)
    assert (y["chosen"].shape, int(y["count"])) == ((0, 3), 0)


def test_a_limit_that_would_drop_candidates_is_refused() -> None:
    boxes, scores = np.zeros((1, 6, 4), np.float32), np.zeros((1, 6, 2), np.float32)
    with pytest.raises(Unsupported, match=r"'the boxes' \(NMS\): 12 candidates under a limit of 10 boxes"):
        run(_define(boxes, scores, 5, limit=10), boxes=boxes, scores=scores)
