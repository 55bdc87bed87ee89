"""`trtmc-build inspect` and `trtmc-build verify`: look at a bundle, or check all of it. Same face as the "
"runtime's commands."""

from __future__ import annotations

from pathlib import Path

import click

from trtmc.bundle import Bundle, read_bundle
from trtmc.cli import options as shared
from trtmc.cli.console import Console, size


@click.command()
@click.argument("bundle", type=shared.FILE)
@shared.output_form
def inspect(bundle: Path, as_json: bool, quiet: bool) -> None:
    """Show a bundle's header: what it is, for which target, its sections and where it came from."""
    with read_bundle(bundle) as opened:
        value = {"id": opened.id, "bytes": bundle.stat().st_size, "header": opened.header.to_json()}
        Console(quiet=quiet, as_json=as_json).result(_describe(bundle, opened), value)


@click.command()
@click.argument("bundle", type=shared.FILE)
@shared.output_form
def verify(bundle: Path, as_json: bool, quiet: bool) -> None:
    """Check every byte of a bundle against its hashes."""
    with read_bundle(bundle, verify="full") as opened:
        count = len(opened.header.sections)
        text = f"{bundle}: ok, {count} sections, id {opened.id}"
        Console(quiet=quiet, as_json=as_json).result(
            text, {"bundle": str(bundle), "ok": True, "sections": count, "id": opened.id}
        )


def _describe(path: Path, bundle: Bundle) -> str:
    header, source = bundle.header, bundle.header.provenance
    lines = [
        f"{path}: {header.kind} bundle, {size(path.stat().st_size)}",
        f"  id        {bundle.id}",
        f"  model     family {header.family}, task {header.task}, strategy {header.runtime_strategy}",
        f"  target    {header.target.name} ({header.target.compiler} {header.target.compiler_version})",
    ]
    for component in header.components:
        contract = component.contract
        limits = f"batch {contract.limits.max_batch}, sequence {contract.limits.max_sequence}"
        lines.append(
            f"  component {component.name}: {len(contract.inputs)} inputs, {len(contract.outputs)} outputs, "
            f"{len(contract.state)} states, {limits}"
        )
    if header.text_generation:
        text = header.text_generation
        lines.append(
            f"  tokens    vocabulary {text.vocab_size}, bos {text.bos_token_id}, eos "
            f"{list(text.eos_token_ids)}, pad {text.pad_token_id}"
        )
    lines += [f"  section   {s.name}: {size(s.length)} at {s.offset}, sha256 {s.sha256[:16]}…" for s in header.sections]
    lines.append(
        f"  source    {source.checkpoint.source} @ {source.checkpoint.revision}, {len(source.checkpoint.files)} files"
    )
    lines.append(f"  options   {', '.join(f'{k}={v}' for k, v in sorted(source.options.items())) or 'none'}")
    return "\n".join(lines)
