"""A bundle cut anywhere or with any byte changed is refused, or is still the same bundle; both readers say the same.

The sample is as small as bundles get, so "anywhere" can be taken literally.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bundle_corpus import sample
from tests.bundle_corpus.judge import cpp_verdicts, judge_tool, python_verdict

GOOD = sample.good()
needs_tool = pytest.mark.skipif(judge_tool() is None, reason="set TRTMC_BUNDLE_JUDGE to the C++ judge tool")


def _flipped(offset: int, mask: int) -> bytes:
    return GOOD[:offset] + bytes([GOOD[offset] ^ mask]) + GOOD[offset + 1 :]


def _mask(offset: int) -> int:
    """One bit, another one at each offset."""
    return 1 << (offset % 8)


def _expected_cut(length: int) -> str:
    return "bundle.truncated" if length < len(GOOD) else "ok"


def _expected_flip(offset: int) -> set[str]:
    """What a flip may be called, by the part of the file it hits; never "ok", since every byte is covered."""
    records = sample.header()["sections"]
    header_end = 64 + len(sample.canonical(sample.header()))
    fields = (
        (8, {"bundle.bad_magic"}),
        (12, {"bundle.unsupported_version"}),
        (16, {"bundle.unknown_flags"}),
        (24, {"bundle.header_too_long", "bundle.header_out_of_bounds", "bundle.header_sha256"}),
        (56, {"bundle.header_sha256"}),
        (64, {"bundle.truncated", "bundle.trailing_bytes"}),
        (header_end, {"bundle.header_sha256"}),
    )
    for end, slugs in fields:
        if offset < end:
            return slugs
    inside = any(r["offset"] <= offset < r["offset"] + r["length"] for r in records)
    return {"bundle.section_sha256"} if inside else {"bundle.nonzero_padding"}


def test_every_cut_python() -> None:
    wrong = [n for n in range(len(GOOD) + 1) if python_verdict(GOOD[:n]) != _expected_cut(n)]
    assert wrong == []


def test_flips_python() -> None:
    """Every byte that means something, and every 16th byte of the padding (C++ does all of them)."""
    header_end = 64 + len(sample.canonical(sample.header()))
    meant = {o for r in sample.header()["sections"] for o in range(r["offset"], r["offset"] + r["length"])}
    offsets = [o for o in range(len(GOOD)) if o < header_end or o in meant or o % 16 == 15]
    verdicts = {offset: python_verdict(_flipped(offset, _mask(offset))) for offset in offsets}
    assert [(offset, v) for offset, v in verdicts.items() if v not in _expected_flip(offset)] == []
    assert {"bundle.section_sha256", "bundle.nonzero_padding", "bundle.header_sha256"} <= set(verdicts.values())


@needs_tool
def test_every_cut_and_flip_cpp(tmp_path: Path) -> None:
    tool = judge_tool()
    if tool is None:
        raise RuntimeError("no judge tool")
    base = tmp_path / "good.bundle"
    base.write_bytes(GOOD)
    cuts = cpp_verdicts(tool, base, [f"cut {n}" for n in range(len(GOOD) + 1)])
    assert [n for n, v in enumerate(cuts) if v != _expected_cut(n)] == []
    flips = cpp_verdicts(tool, base, [f"flip {offset} {_mask(offset)}" for offset in range(len(GOOD))])
    assert [(o, v) for o, v in enumerate(flips) if v not in _expected_flip(o)] == []
    # Some bytes of the preamble have several possible verdicts: there both readers must agree byte by byte.
    assert flips[:64] == [python_verdict(_flipped(offset, _mask(offset))) for offset in range(64)]


def test_python_reader_refuses_what_extends() -> None:
    for extra in (1, 63, 4095, 4096, 8192):
        assert python_verdict(GOOD + bytes(extra)) == "bundle.trailing_bytes"
