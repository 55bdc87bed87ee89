"""`trtmc-build inspect` and `trtmc-build verify`: look at a bundle, or check all of it.

Both print, byte for byte, what the runtime's `trtmc inspect` and `trtmc verify` print.
"""

from __future__ import annotations

from pathlib import Path

import click

from trtmc.bundle import read_bundle
from trtmc.bundle.inspect import describe_json, describe_text
from trtmc.bundle.reports import reports_json, reports_text
from trtmc.cli import options as shared
from trtmc.cli.console import Console


@click.command()
@click.argument("bundle", type=shared.FILE)
@click.option("--engine", is_flag=True, help="Show the engines' build reports instead.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def inspect(bundle: Path, engine: bool, as_json: bool) -> None:
    """Show a bundle's header: what it is, for which target, its sections and where it came from."""
    with read_bundle(bundle) as opened:
        if engine:
            print(reports_json(opened) if as_json else reports_text(opened), end="\n" if as_json else "")
            return
        print(describe_json(opened) if as_json else describe_text(opened), end="\n" if as_json else "")


@click.command()
@click.argument("bundle", type=shared.FILE)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def verify(bundle: Path, as_json: bool) -> None:
    """Check every byte of a bundle against its hashes."""
    with read_bundle(bundle, verify="full") as opened:
        count = len(opened.header.sections)
        text = f"{bundle}: ok, {count} sections, id {opened.id}"
        value = {"bundle": str(bundle), "ok": True, "sections": count, "id": opened.id}
        Console(as_json=as_json).result(text, value)
