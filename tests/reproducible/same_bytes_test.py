"""Ten builds of each engine, no two under the same circumstances: the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reproducible.kit import CIRCUMSTANCES, Wanted, build, checkpoint, difference


@pytest.mark.parametrize(("max_batch", "weights"), [(1, "embedded"), (4, "embedded"), (1, "external")])
@pytest.mark.parametrize("precision", ["fp16", "bf16", "fp32"])
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_bld_5_the_same_bytes_ten_times(
    tmp_path: Path, family: str, precision: str, max_batch: int, weights: str
) -> None:
    wanted = Wanted(checkpoint(family), precision, max_batch, weights)
    engines = [build(wanted, tmp_path / str(number), how) for number, how in enumerate(CIRCUMSTANCES)]
    assert len(engines) == 10
    for engine, how in zip(engines, CIRCUMSTANCES, strict=True):
        assert difference(engines[0], engine) == "", how.name
    assert str(tmp_path).encode() not in engines[0]
