"""The benchmark's table: rows with their class of weights, shares of the memory limit, and the peers that are missing.

Knows how figures are shown; not how they were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

PARAMETERS = 134_515_008
LAYERS, KV_HEADS, HEAD_DIM, CONTEXT = 30, 3, 64, 192
BYTES = {"16-bit": 2, "32-bit": 4}


@dataclass(frozen=True)
class Row:
    """Medians of one contestant; ``missing`` tells why there are none."""

    name: str
    weights: str
    arithmetic: str
    prefill: float = 0.0
    decode: float = 0.0
    decode_low: float = 0.0
    decode_high: float = 0.0
    first_token: float = 0.0
    rss: float = 0.0
    equal: tuple[int, ...] = ()
    missing: str = ""


def megabytes_per_token(weights: str) -> float:
    """What one decoded token must read: all weights once, and keys and values (float32) of a middle context."""
    cache = 2 * LAYERS * KV_HEADS * HEAD_DIM * CONTEXT * 4
    return (PARAMETERS * BYTES[weights] + cache) / 1e6


def decode_roof(weights: str, limits: Mapping[str, float]) -> float | None:
    """Tokens per second that the memory allows."""
    bandwidth = limits.get("read_gb_per_s_huge_pages")
    return None if bandwidth is None else bandwidth * 1e3 / megabytes_per_token(weights)


def prefill_roof(limits: Mapping[str, float]) -> float | None:
    """Prompt tokens per second that float32 multiply-adds allow (two operations per parameter)."""
    flops = limits.get("fp32_gflops")
    return None if flops is None else flops * 1e9 / (2 * PARAMETERS)


def markdown(rows: Sequence[Row], limits: Mapping[str, float]) -> str:
    """The tables, one per class of weights, fastest decode first."""
    parts = []
    for weights in dict.fromkeys(row.weights for row in rows):
        here = sorted((row for row in rows if row.weights == weights), key=lambda row: -row.decode)
        parts.append(_table(weights, here, limits))
    missing = [f"- {row.name}: {' '.join(row.missing.split())}" for row in rows if row.missing]
    if missing:
        parts.append("Not measured:\n\n" + "\n".join(missing) + "\n")
    if limits:
        figures = ", ".join(f"{name} {value:g}" for name, value in limits.items())
        parts.append(f"Limits of this machine, measured in the same run: {figures}.\n")
    return "\n".join(parts)


def _table(weights: str, rows: Sequence[Row], limits: Mapping[str, float]) -> str:
    roof = decode_roof(weights, limits)
    lines = [
        f"**{weights} weights**",
        "",
        "| runtime | arithmetic | decode tok/s (range) | share of memory limit | prefill tok/s | first token s | "
        "memory MB | ids equal to the oracle's, 4 prompts |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        if row.missing:
            continue
        share = f"{100 * row.decode / roof:.0f} %" if roof else ""
        equal = ", ".join(map(str, row.equal))
        decode = f"{row.decode:.1f} ({row.decode_low:.0f}-{row.decode_high:.0f})"
        lines.append(
            f"| {row.name} | {row.arithmetic} | {decode} | {share} | "
            f"{row.prefill:.0f} | {row.first_token:.2f} | {row.rss:.0f} | {equal} |"
        )
    if roof:
        lines.append(f"| memory limit | | {roof:.0f} | 100 % | | | | |")
    top = prefill_roof(limits)
    if top:
        lines.append(f"| float32 multiply-add limit | f32 | | | {top:.0f} | | | |")
    return "\n".join(lines) + "\n"
