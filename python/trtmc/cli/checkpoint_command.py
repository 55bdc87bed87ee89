"""`trtmc-build checkpoint`: brings a folder into the build graph, validated and recorded file by file."""

from __future__ import annotations

from pathlib import Path

import click

from trtmc.checkpoints.ingest import admit
from trtmc.cli import options as shared
from trtmc.cli.console import Console
from trtmc.core.admission import checkpoint_files
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.family import for_checkpoint


@click.command()
@click.argument("folder", type=shared.FOLDER)
@click.option("-o", "--output", required=True, type=shared.FOLDER, help="Folder to create or fill; must be empty.")
@click.option("--source", required=True, help="Where the files came from, e.g. 'wheel:name==1.0'. Not a path.")
@click.option("--revision", required=True, help="Exact revision or hash of the source.")
@shared.output_form
def checkpoint(folder: Path, output: Path, source: str, revision: str, as_json: bool, quiet: bool) -> None:
    """Validate a checkpoint folder and copy what a build needs, with checkpoint.json."""
    console = Console(quiet=quiet, as_json=as_json)
    opened = Checkpoint(folder)
    family = for_checkpoint(opened)
    family.config(opened)  # refuses what the family does not implement, before anything is copied
    record = admit(opened, checkpoint_files(opened), output, source, revision, console.progress)
    console.result(
        f"{output}: {len(record.files)} files for family {family.manifest.name}",
        {"checkpoint": str(output), "family": family.manifest.name, "record": record.to_json()},
    )
