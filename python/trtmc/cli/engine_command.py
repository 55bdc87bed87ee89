"""`trtmc-build engine`: checkpoint to the engine of one component, for one target."""

from __future__ import annotations

from pathlib import Path

import click

from trtmc import heap
from trtmc.cli import options as shared
from trtmc.cli.console import Console, size
from trtmc.cli.engine_origin import EngineOrigin, contract_file
from trtmc.cli.outputs import Outputs, check_outputs
from trtmc.cli.target_options import compile_options, one_target, targets
from trtmc.compilers import CompiledEngine, CompileOptions, find_compiler
from trtmc.core.admission import admission_record
from trtmc.core.build import NetworkBuild, build_network
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.report import Report


@click.command()
@click.option("--family", required=True, help="Family that owns the model.")
@click.option("--checkpoint", required=True, type=shared.FOLDER, help="Checkpoint folder.")
@click.option("--component", default="llm", show_default=True, help="Which of the family's networks to build.")
@targets("An engine is for one.")
@shared.limits
@click.option("--out-engine", required=True, type=shared.FILE, help="Engine file to write.")
@click.option("--out-contract", required=True, type=shared.FILE, help="Contract (JSON) to write.")
@click.option("--out-report", type=shared.FILE, help="Report (JSON) to write: seconds and peak memory per phase.")
@shared.output_form
def engine(
    family: str,
    checkpoint: Path,
    component: str,
    target_names: tuple[str, ...],
    target_infos: tuple[Path, ...],
    precision: str,
    weights: str | None,
    max_sequence: int | None,
    max_batch: int,
    options: tuple[str, ...],
    out_engine: Path,
    out_contract: Path,
    out_report: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the engine of one component."""
    console = Console(quiet=quiet, as_json=as_json)
    check_outputs((out_engine, out_contract, out_report), (checkpoint, *target_infos))
    target = one_target(target_names, target_infos)
    if said := heap.enter(target.compiler):
        console.progress(said)
    (chosen,) = compile_options([target], shared.key_values(options, "--option"), out_engine.parent)
    opened = Checkpoint(checkpoint)
    build = build_network(
        opened,
        family,
        component,
        precision,
        max_sequence=max_sequence,
        max_batch=max_batch,
        weights=weights or "embedded",
        target=target,
        progress=console.progress,
    )
    with Outputs() as outputs:
        compiled = compile_network(build, chosen, console)
        staged = outputs.stage(out_engine)
        write_engine(compiled, staged, build.report)
        # Hashed behind the compiler: what happens before it has a say in where the compiler's memory lies.
        origin = EngineOrigin.of(family, component, target, admission_record(opened), staged)
        outputs.write_json(out_contract, contract_file(compiled.contract, origin))
        if out_report:
            outputs.write_json(out_report, build.report.to_json())
    written = out_engine.stat().st_size
    console.result(
        f"{out_engine}: {size(written)}",
        {"engine": str(out_engine), "bytes": written, "report": build.report.to_json()},
    )


def compile_network(build: NetworkBuild, options: CompileOptions, console: Console) -> CompiledEngine:
    """Compiles a network; the engine is valid as long as the network is."""
    compiler = options.target.compiler
    console.progress(f"compiling {build.network.num_layers} layers with {compiler} for {options.target.name}")
    return find_compiler(compiler).compile(build, options)


def write_engine(compiled: CompiledEngine, path: Path, report: Report) -> None:
    """Streams an engine to a file."""
    with report.phase("write_engine"):
        compiled.write(path)
