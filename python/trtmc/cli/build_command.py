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
from trtmc.compilers import CompileOptions, find_compiler
from trtmc.core.admission import background_record
from trtmc.core.build import build_network, resolve_family
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import UsageError
from trtmc.core.family import Family
from trtmc.core.report import Report
from trtmc.core.target import TargetInfo, named_target


@click.command()
@click.argument("checkpoint", type=shared.FOLDER)
@click.option("-o", "--output", required=True, type=shared.FILE, help="Bundle to write.")
@click.option("--family", help="Family that owns the model. Default: the one that knows its model_type.")
@click.option("--target", help="Target by name. Default: cpu_x86_64.")
@click.option("--target-info", type=shared.FILE, help="target.json of a target, instead of its name.")
@shared.limits
@click.option(
    "--report", "out_report", type=shared.FILE, help="Report (JSON) to write: seconds and peak memory per phase."
)
@shared.output_form
def build(
    checkpoint: Path,
    output: Path,
    family: str | None,
    target: str | None,
    target_info: Path | None,
    precision: str,
    weights: str,
    max_sequence: int | None,
    max_batch: int,
    options: tuple[str, ...],
    out_report: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build a bundle from a checkpoint folder (the default command)."""
    console = Console(quiet=quiet, as_json=as_json)
    check_outputs((output, out_report), filter(None, (checkpoint, target_info)))
    compile_options = CompileOptions(
        _target(target, target_info), shared.key_values(options, "--option"), output.parent
    )
    if said := heap.enter(compile_options.target.compiler):
        console.progress(said)
    find_compiler(compile_options.target.compiler).chosen(compile_options)  # a wrong option is refused before any work
    opened = Checkpoint(checkpoint)
    owner = resolve_family(opened, family)
    settings = {
        "precision": precision,
        "max_sequence": max_sequence,
        "max_batch": max_batch,
        "weights": weights,
        "target": compile_options.target,
    }
    packing = Report()
    scratch = tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent)
    with scratch as folder, Outputs() as outputs, background_record(opened) as record:
        engines, reports = _engines(opened, owner, settings, compile_options, Path(folder), console)
        console.progress(f"packing {output}")
        with packing.phase("pack"):
            parts = [TargetEngines(compile_options.target, engines)]
            bundle_id = pack_bundle(output, owner, opened, parts, record.result())
        report = {"components": {name: r.to_json() for name, r in reports.items()}, "bundle": packing.to_json()}
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
) -> tuple[dict[str, PackedEngine], dict[str, Report]]:
    """Builds all components; the last one streams into the bundle, the others wait in files, so that networks go."""
    engines: dict[str, PackedEngine] = {}
    reports: dict[str, Report] = {}
    for component in owner.components:
        built = build_network(opened, owner.manifest.name, component, **settings, progress=console.progress)
        reports[component] = built.report
        compiled = compile_network(built, options, console)
        if component == owner.manifest.components[-1]:
            engines[component] = PackedEngine(compiled, compiled.contract, keepalive=built)
        else:
            file = folder / f"{component}.engine"
            write_engine(compiled, file, built.report)
            engines[component] = PackedEngine(file, compiled.contract)
            opened.weights.release_all()
    return engines, reports


def _target(name: str | None, path: Path | None) -> TargetInfo:
    if path is None:
        return named_target("cpu_x86_64" if name is None else name)
    info = TargetInfo.read(path)
    if name is not None and name != info.name:
        raise UsageError("cli.target", f"--target is '{name}', but {path} describes '{info.name}'; drop one of the two")
    return info
