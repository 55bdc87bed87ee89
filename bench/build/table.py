"""Rounds of measurements to tables. Knows the goals; measures nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

from bench.build.ways import Step

Round = dict[str, list[Step]]

PEER = "torch.onnx.export"
GOALS = {"direct, weights external": 8.0, "direct, weights embedded": 5.0}  # times faster than the fastest peer
MEMORY_GOAL = 1.3  # of weights and plan together
SEVEN_GOAL = 4.0  # of one target


def seconds(rounds: Sequence[Round], way: str, figure: str = "seconds") -> float:
    """A way's median over rounds, all its steps together: wall time, or `cpu_seconds`."""
    return median(sum(getattr(step, figure) for step in found[way]) for found in rounds if way in found)


def peak_mb(rounds: Sequence[Round], way: str) -> float:
    """The most memory that any step of a way ever took."""
    return max(step.peak_mb for found in rounds if way in found for step in found[way])


def engine_mb(rounds: Sequence[Round], way: str) -> float:
    """Size of the engine."""
    return next(found[way][-1].facts["engine_mb"] for found in rounds if way in found)


def markdown(rounds: Sequence[Round], weights_mb: float, seven: Mapping[str, float]) -> str:
    """The tables, and each goal with what was found."""
    ways = list(dict.fromkeys(way for found in rounds for way in found))
    lines = ["| way | wall s | CPU s | peak MB | engine MB |", "| --- | --- | --- | --- | --- |"]
    for way in ways:
        times = f"{seconds(rounds, way):.1f} | {seconds(rounds, way, 'cpu_seconds'):.1f}"
        lines.append(f"| {way} | {times} | {peak_mb(rounds, way):.0f} | {engine_mb(rounds, way):.0f} |")
    return "\n".join([*lines, "", *_phases(rounds, ways), "", *_goals(rounds, ways, weights_mb, seven)]) + "\n"


def _phases(rounds: Sequence[Round], ways: Sequence[str]) -> list[str]:
    lines = ["| way | phase | seconds (median) |", "| --- | --- | --- |"]
    for way in ways:
        runs = [_flat(found[way]) for found in rounds if way in found]
        lines += [f"| {way} | {name} | {median(run[name] for run in runs):.2f} |" for name in runs[0]]
    return lines


def _flat(steps: Sequence[Step]) -> dict[str, float]:
    """Every phase that a way's processes report, and what is left of their wall time: start and end."""
    phases: dict[str, float] = {}
    for step in steps:
        own = {phase["name"]: phase["seconds"] for phase in step.facts.get("phases", [])}
        named = ("load", "export", "import", "parse", "build", "write")
        own |= {name: step.facts[name] for name in named if isinstance(step.facts.get(name), float)}
        phases |= {f"{step.name}: {name}": value for name, value in own.items()}
        phases[f"{step.name}: the rest"] = step.seconds - sum(own.values())
    return phases


def _goals(rounds: Sequence[Round], ways: Sequence[str], weights_mb: float, seven: Mapping[str, float]) -> list[str]:
    lines: list[str] = []
    peers = [way for way in ways if way.startswith(PEER)]
    for way, goal in GOALS.items():
        if way not in ways:
            continue
        if peers:
            wall, cpu = (
                min(seconds(rounds, peer, figure) for peer in peers) / seconds(rounds, way, figure)
                for figure in ("seconds", "cpu_seconds")
            )
            text = f"{wall:.1f} times faster than the fastest exporter path (goal {goal:g})"
            lines.append(f"- {way}: {text}; {cpu:.1f} times by processor time.")
        bound = MEMORY_GOAL * (weights_mb + engine_mb(rounds, way))
        lines.append(f"- {way}: peak {peak_mb(rounds, way):.0f} MB (goal at most {bound:.0f} MB).")
        kind = way.removeprefix("direct, weights ")
        if kind in seven:
            ratio = seven[kind] / seconds(rounds, way)
            lines.append(f"- {way}: seven targets in {seven[kind]:.1f} s, {ratio:.1f} times one (goal {SEVEN_GOAL:g}).")
    return lines
