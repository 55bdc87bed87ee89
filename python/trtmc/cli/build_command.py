"""`trtmc-build CHECKPOINT -o X.bundle`: everything in one go."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from trtmc import heap
from trtmc.cli import options as shared
from trtmc.cli.console import Console, size
from trtmc.cli.engine_command import compile_network, write_engine
from trtmc.cli.outputs import Outputs, check_outputs
from trtmc.cli.packing import PackedEngine, TargetEngines, pack_bundle
from trtmc.cli.target_options import compile_options, resolve_targets, targets
from trtmc.compilers import CompileOptions
from trtmc.core.admission import background_record
from trtmc.core.build import build_network, resolve_family, resolve_precision
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.family import Family
from trtmc.core.precision import Precision
from trtmc.core.report import Report
from trtmc.core.target import check_holds


@click.command()
@click.argument("checkpoint", type=shared.FOLDER)
@click.option("-o", "--output", required=True, type=shared.FILE, help="Bundle to write.")
@click.option("--family", help="Family that owns the model. Default: the one that knows its model_type.")
@targets("May be repeated: one bundle for all of them, whose weights are external unless --weights says otherwise.")
@shared.limits
@click.option(
    "--report", "out_report", type=shared.FILE, help="Report (JSON) to write: seconds and peak memory per phase."
)
@shared.output_form
def build(
    checkpoint: Path,
    output: Path,
    family: str | None,
    target_names: tuple[str, ...],
    target_infos: tuple[Path, ...],
    precision: str,
    weights: str | None,
    max_sequence: int | None,
    max_batch: int,
    options: tuple[str, ...],
    out_report: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build a bundle from a checkpoint folder (the default command)."""
    console = Console(quiet=quiet, as_json=as_json)
    check_outputs((output, out_report), (checkpoint, *target_infos))
    found = resolve_targets(target_names, target_infos)
    for said in filter(None, dict.fromkeys(heap.enter(target.compiler) for target in found)):
        console.progress(said)
    every = compile_options(found, shared.key_values(options, "--option"), output.parent)  # checked before any work
    for target in found:
        if resolve_precision(precision, target) is not Precision.AUTO:
            check_holds(target, precision)
    opened = Checkpoint(checkpoint)
    owner = resolve_family(opened, family)
    settings = {
        "precision": precision,
        "max_sequence": max_sequence,
        "max_batch": max_batch,
        "weights": weights or ("embedded" if len(found) == 1 else "external"),
    }
    packing = Report()
    scratch = tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent)
    with scratch as folder, Outputs() as outputs, background_record(opened) as record:
        parts, reports = [], {}
        for one in every:
            last = one is every[-1]
            engines, reports[one.target.name] = _engines(opened, owner, settings, one, Path(folder), console, last)
            parts.append(TargetEngines(one.target, engines))
        console.progress(f"packing {output}")
        with packing.phase("pack"):
            bundle_id = pack_bundle(output, owner, opened, parts, record.result())
        report = _report(reports) | {"bundle": packing.to_json()}
        if out_report:
            outputs.write_json(out_report, report)
    written = output.stat().st_size
    console.result(
        f"{output}: {size(written)}, id {bundle_id}",
        {"bundle": str(output), "bytes": written, "id": bundle_id, "report": report},
    )


def _engines(
    opened: Checkpoint,
    owner: Family,
    settings: Mapping[str, Any],
    options: CompileOptions,
    folder: Path,
    console: Console,
    last_target: bool,
) -> tuple[dict[str, PackedEngine], dict[str, Report]]:
    """Builds all components for one target; the very last one streams into the bundle, the others wait in files, so
    that networks go."""
    engines: dict[str, PackedEngine] = {}
    reports: dict[str, Report] = {}
    for component in owner.components:
        built = build_network(
            opened, owner.manifest.name, component, **settings, target=options.target, progress=console.progress
        )
        reports[component] = built.report
        compiled = compile_network(built, options, console)
        if last_target and component == owner.manifest.components[-1]:
            engines[component] = PackedEngine(compiled, compiled.contract, keepalive=built)
        else:
            file = folder / f"{options.target.name}.{component}.engine"
            write_engine(compiled, file, built.report)
            engines[component] = PackedEngine(file, compiled.contract)
            opened.weights.release_all()
    return engines, reports


def _report(reports: Mapping[str, Mapping[str, Report]]) -> dict[str, Any]:
    """By component, or with several targets by target and component."""
    values = {name: {c: r.to_json() for c, r in parts.items()} for name, parts in reports.items()}
    if len(values) == 1:
        return {"components": next(iter(values.values()))}
    return {"targets": {name: {"components": components} for name, components in values.items()}}
