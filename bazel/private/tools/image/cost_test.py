"""What a big layer costs, counted in bytes and not in seconds: read once to hash it, read and written once to store
it, read once to check it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bazel.private.tools.image.check import check
from bazel.private.tools.image.kit import ELF, make_image, make_layer

SIZE = 24_000_000
#: What else is read: descriptors, manifests, small layers.
MARGIN = SIZE // 10


def counters() -> tuple[int, int]:
    """Bytes that this process has read and written so far."""
    rows = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(rows["rchar"]), int(rows["wchar"])


@contextmanager
def costing(reads: int, writes: int) -> Iterator[None]:
    before = counters()
    yield
    read, written = (now - then for now, then in zip(counters(), before, strict=True))
    assert abs(read - reads * SIZE) < MARGIN, f"read {read / SIZE:.2f} times its size, not {reads}"
    assert abs(written - writes * SIZE) < MARGIN, f"written {written / SIZE:.2f} times its size, not {writes}"


@pytest.fixture()
def big(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """A layer of SIZE bytes that do not shrink, with the image's program."""
    if not Path("/proc/self/io").is_file():
        pytest.skip("not run here: this system counts no bytes")
    (tmp_path / "weights").write_bytes(os.urandom(SIZE))
    (tmp_path / "app").write_bytes(ELF)
    rows = [
        {"path": "bundles/x.bundle", "source": str(tmp_path / "weights"), "mode": "0644"},
        {"path": "bin/app", "source": str(tmp_path / "app"), "mode": "0755"},
    ]
    return lambda compression: make_layer(tmp_path, "big", compression, files=rows)


def test_a_plain_layer_is_hashed_once_written_once_and_checked_in_one_pass(
    tmp_path: Path, big: Callable[[str], dict[str, Any]]
) -> None:
    with costing(reads=1, writes=0):
        layer = big("none")
    with costing(reads=1, writes=1):
        archive, _ = make_image(tmp_path, [layer])
    with costing(reads=1, writes=0):
        check(archive)


def test_a_compressed_layer_is_unpacked_once_to_check_it(tmp_path: Path, big: Callable[[str], dict[str, Any]]) -> None:
    with costing(reads=1, writes=1):
        layer = big("gzip")
    archive, _ = make_image(tmp_path, [layer])
    with costing(reads=1, writes=0):
        check(archive)
