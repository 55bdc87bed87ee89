"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from trtmc.core.errors import UsageError
from trtmc.core.precision import STORED_TYPES, Precision
from trtmc.core.weights import Weights

Command = TypeVar("Command", bound=Callable[..., Any])

FOLDER = click.Path(path_type=Path)
FILE = click.Path(path_type=Path)


def limits(command: Command) -> Command:
    """--precision, --weights, --max-sequence, --max-batch, --option."""
    for decorate in (
        click.option(
            "--option", "options", multiple=True, metavar="KEY=VALUE", help="Compiler option; may be repeated."
        ),
        click.option("--max-batch", type=click.IntRange(1), default=1, show_default=True, help="Sequences at once."),
        click.option(
            "--max-sequence",
            type=click.IntRange(1),
            help="Rows of the KV cache: prompt and answer together. Default: the model's own limit, at most 2048.",
        ),
        click.option(
            "--weights",
            type=click.Choice([w.value for w in Weights]),
            help="Where large weights are: in each engine (the default), or outside, once for all engines of a bundle "
            "(the default of a bundle for several targets).",
        ),
        click.option(
            "--precision",
            type=click.Choice([*(p.value for p in Precision), *STORED_TYPES]),
            default="auto",
            show_default=True,
            help="Type of weights and arithmetic in the network; auto follows the checkpoint. "
            "No family builds int8, int4, fp8 and fp4 yet.",
        ),
    ):
        command = decorate(command)
    return command


def output_form(command: Command) -> Command:
    """--quiet and --json."""
    command = click.option("-q", "--quiet", is_flag=True, help="Print errors only, and the result if --json is given.")(
        command
    )
    return click.option("--json", "as_json", is_flag=True, help="Print the result (or the error) as one JSON object.")(
        command
    )


def key_values(pairs: tuple[str, ...], option: str) -> dict[str, str]:
    """`a=b` pairs as a dict; each key once."""
    result: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise UsageError("cli.key_value", f"{option} {pair!r} must look like KEY=VALUE")
        if key in result:
            raise UsageError("cli.key_value", f"{option} names '{key}' twice")
        result[key] = value
    return result
