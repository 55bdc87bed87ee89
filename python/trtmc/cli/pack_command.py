"""`trtmc-build pack`: engines, contracts and tokenizer files to one bundle."""

from __future__ import annotations

from pathlib import Path

import click

from trtmc.cli import options as shared
from trtmc.cli.console import Console, size
from trtmc.cli.outputs import check_folder
from trtmc.cli.packing import PackedEngine, TargetEngines, pack_bundle, read_contract
from trtmc.core.admission import admission_record
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.errors import UsageError
from trtmc.core.family import load
from trtmc.core.target import TargetInfo


@click.command()
@click.option("--family", required=True, help="Family that owns the model.")
@click.option("--checkpoint", required=True, type=shared.FOLDER, help="Checkpoint folder.")
@click.option("--target-info", required=True, type=shared.FILE, help="target.json that the engines were built for.")
@click.option(
    "--engine",
    "engines",
    multiple=True,
    required=True,
    metavar="COMPONENT=FILE",
    help="Engine of a component; once for each.",
)
@click.option(
    "--contract",
    "contracts",
    multiple=True,
    required=True,
    metavar="COMPONENT=FILE",
    help="Contract of a component; once for each.",
)
@click.option("-o", "--output", required=True, type=shared.FILE, help="Bundle to write.")
@shared.output_form
def pack(
    family: str,
    checkpoint: Path,
    target_info: Path,
    engines: tuple[str, ...],
    contracts: tuple[str, ...],
    output: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Pack engines into a bundle and check it."""
    console = Console(quiet=quiet, as_json=as_json)
    check_folder(output)
    engine_files, contract_files = shared.key_values(engines, "--engine"), shared.key_values(contracts, "--contract")
    if set(engine_files) != set(contract_files):
        raise UsageError(
            "pack.components", f"engines are given for {sorted(engine_files)}, contracts for {sorted(contract_files)}"
        )
    parts = {}
    for name, path in engine_files.items():
        if not Path(path).is_file():
            raise UsageError("pack.engine", f"{path}: no such engine file")
        parts[name] = PackedEngine(Path(path), read_contract(Path(contract_files[name])))
    console.progress(f"packing {output}")
    opened = Checkpoint(checkpoint)
    target = TargetInfo.read(target_info)
    bundle_id = pack_bundle(output, load(family), opened, [TargetEngines(target, parts)], admission_record(opened))
    written = output.stat().st_size
    console.result(
        f"{output}: {size(written)}, id {bundle_id}", {"bundle": str(output), "bytes": written, "id": bundle_id}
    )
