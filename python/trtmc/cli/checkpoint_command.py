"""`trtmc-build checkpoint`: brings a folder into the build graph, validated and recorded file by file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from trtmc.cli import options as shared
from trtmc.cli.console import Console, compact_json
from trtmc.core.admission import AdmissionRecord, checkpoint_files, hash_file
from trtmc.core.checkpoint import ADMISSION, Checkpoint
from trtmc.core.errors import UsageError
from trtmc.core.family import for_checkpoint


@click.command()
@click.argument("folder", type=shared.FOLDER)
@click.option("-o", "--output", required=True, type=shared.FOLDER, help="Folder to create or fill; must be empty.")
@click.option(
    "--source", required=True, help="Where the files came from, e.g. 'wheel:name==1.0'. Not a path of this machine."
)
@click.option("--revision", required=True, help="Exact revision or hash of the source.")
@shared.output_form
def checkpoint(folder: Path, output: Path, source: str, revision: str, as_json: bool, quiet: bool) -> None:
    """Validate a checkpoint folder and copy what a build needs, with checkpoint.json."""
    console = Console(quiet=quiet, as_json=as_json)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError("output.not_empty", f"{output}: must be an empty folder, or not exist yet")
    opened = Checkpoint(folder)
    family = for_checkpoint(opened)
    family.config(opened)  # refuses what the family does not implement, before anything is copied
    names = checkpoint_files(opened)
    record = admit(opened, names, output, source, revision, console)
    console.result(
        f"{output}: {len(names)} files for family {family.manifest.name}",
        {"checkpoint": str(output), "family": family.manifest.name, "record": record.to_json()},
    )


def admit(
    opened: Checkpoint, names: list[str], output: Path, source: str, revision: str, console: Console
) -> AdmissionRecord:
    """Links or copies the files into `output`; a failure leaves it empty, or absent if it was."""
    existed = output.exists()
    output.mkdir(parents=True, exist_ok=True)
    done = False
    try:
        files = []
        for name in names:
            console.progress(f"hashing {name}")
            _link_or_copy(opened.path(name).resolve(), output / name)
            files.append(hash_file(output / name))
        record = AdmissionRecord(1, source, revision, tuple(files))
        (output / ADMISSION).write_text(compact_json(record.to_json()) + "\n", "utf-8")
        done = True
        return record
    finally:
        if not done:
            _clear(output, existed)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or links forbidden
        shutil.copyfile(source, target)


def _clear(output: Path, existed: bool) -> None:
    for path in output.iterdir():
        path.unlink()
    if not existed:
        output.rmdir()
