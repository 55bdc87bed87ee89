"""`trtmc-build pack`: engines, contracts, external weights and tokenizer files to one bundle, for any targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from trtmc.cli import options as shared
from trtmc.cli.console import Console, size
from trtmc.cli.engine_origin import EngineOrigin, check_origin, read_contract
from trtmc.cli.outputs import check_outputs
from trtmc.cli.packing import PackedEngine, TargetEngines, pack_bundle
from trtmc.cli.target_options import resolve_targets, targets
from trtmc.core.admission import AdmissionRecord, admission_record
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import UsageError
from trtmc.core.family import load
from trtmc.core.target import TargetInfo


@click.command()
@click.option("--family", required=True, help="Family that owns the model.")
@click.option("--checkpoint", required=True, type=shared.FOLDER, help="Checkpoint folder.")
@targets("Once for each target of the bundle.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    required=True,
    metavar="[TARGET/]COMPONENT=FILE",
    help="Engine of a component; once for each. With several targets their names stand before the components.",
)
@click.option(
    "--contract",
    "contracts",
    multiple=True,
    required=True,
    metavar="[TARGET/]COMPONENT=FILE",
    help="Contract of a component; once for each engine.",
)
@click.option("-o", "--output", required=True, type=shared.FILE, help="Bundle to write.")
@shared.output_form
def pack(
    family: str,
    checkpoint: Path,
    target_names: tuple[str, ...],
    target_infos: tuple[Path, ...],
    engines: tuple[str, ...],
    contracts: tuple[str, ...],
    output: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Pack engines into a bundle and check it."""
    console = Console(quiet=quiet, as_json=as_json)
    files = [Path(text.partition("=")[2]) for text in (*engines, *contracts)]
    check_outputs([output], [checkpoint, *target_infos, *files])
    engine_files, contract_files = shared.key_values(engines, "--engine"), shared.key_values(contracts, "--contract")
    if set(engine_files) != set(contract_files):
        raise UsageError(
            "pack.components", f"engines are given for {sorted(engine_files)}, contracts for {sorted(contract_files)}"
        )
    found = resolve_targets(target_names, target_infos)
    console.progress(f"packing {output}")
    opened = Checkpoint(checkpoint)
    record = admission_record(opened)
    engines_of = partial(_engine, family, record)
    parts = _parts(found, engine_files, contract_files, engines_of)
    bundle_id = pack_bundle(output, load(family), opened, parts, record)
    written = output.stat().st_size
    console.result(
        f"{output}: {size(written)}, id {bundle_id}", {"bundle": str(output), "bytes": written, "id": bundle_id}
    )


def _engine(
    family: str, record: AdmissionRecord, component: str, target: TargetInfo, engine: Path, contract_path: Path
) -> PackedEngine:
    """An engine with its contract, after it was found to be what it is packed as."""
    if not engine.is_file():
        raise UsageError("pack.engine", f"{engine}: no such engine file")
    contract, origin = read_contract(contract_path)
    check_origin(origin, EngineOrigin.of(family, component, target, record, engine), engine, contract_path)
    return PackedEngine(engine, contract)


def _parts(
    targets: Sequence[TargetInfo],
    engines: Mapping[str, str],
    contracts: Mapping[str, str],
    read: Callable[[str, TargetInfo, Path, Path], PackedEngine],
) -> list[TargetEngines]:
    """The engines of each target; a name without a target belongs to the only one."""
    names = [target.name for target in targets]
    by_name = {target.name: target for target in targets}
    found: dict[str, dict[str, PackedEngine]] = {name: {} for name in names}
    for key, path in engines.items():
        target, slash, component = key.rpartition("/")
        if not slash and len(names) == 1:
            target = names[0]
        if target not in found:
            raise UsageError(
                "pack.targets",
                f"--engine {key}={path} must name one of the targets {', '.join(names)}, as in {names[0]}/{component}",
            )
        found[target][component] = read(component, by_name[target], Path(path), Path(contracts[key]))
    return [TargetEngines(target, found[target.name]) for target in targets]
