"""--target and --target-info, and the options of several compilers on one command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from trtmc.cli.options import FILE
from trtmc.compilers import CompileOptions, find_compiler
from trtmc.core.errors import UsageError
from trtmc.core.target import TargetInfo, named_target

Command = TypeVar("Command", bound=Callable[..., Any])
DEFAULT = "cpu_x86_64"


def targets(many: str) -> Callable[[Command], Command]:
    """--target and --target-info, as tuples; `many` says what naming several means."""

    def decorate(command: Command) -> Command:
        command = click.option(
            "--target-info",
            "target_infos",
            multiple=True,
            type=FILE,
            help="target.json of a target, as the build graph writes it, instead of its name.",
        )(command)
        return click.option(
            "--target", "target_names", multiple=True, help=f"Target by name. Default: {DEFAULT}. {many}"
        )(command)

    return decorate


def resolve_targets(names: Sequence[str], infos: Sequence[Path]) -> list[TargetInfo]:
    """The targets in the order they were given, each once; without any the default one."""
    if not names and not infos:
        return [named_target(DEFAULT)]
    found = [TargetInfo.read(path) for path in infos]
    described = [target.name for target in found]
    if names and infos and sorted(names) != sorted(described):
        raise UsageError(
            "cli.target",
            f"--target names {', '.join(names)}, but --target-info describes {', '.join(described)}; drop one of them",
        )
    found = found or [named_target(name) for name in names]
    for target in found:
        if [other.name for other in found].count(target.name) > 1:
            raise UsageError("cli.target", f"target '{target.name}' is named twice")
    return found


def one_target(names: Sequence[str], infos: Sequence[Path]) -> TargetInfo:
    """The target of a command that works for one."""
    found = resolve_targets(names, infos)
    if len(found) > 1:
        raise UsageError(
            "cli.target",
            f"an engine is for one target, but {', '.join(target.name for target in found)} are named; "
            "run the command once for each",
        )
    return found[0]


def compile_options(
    found: Sequence[TargetInfo], values: Mapping[str, str], scratch: Path | None
) -> list[CompileOptions]:
    """Each target's options: those that its compiler has. One that none of the compilers has, or a value that is
    wrong, is refused."""
    known = {target.name: {option.name for option in find_compiler(target.compiler).options} for target in found}
    everywhere = set().union(*known.values())
    made = []
    for target in found:
        own = {k: v for k, v in values.items() if k in known[target.name] or k not in everywhere}
        made.append(CompileOptions(target, own, scratch))
        find_compiler(target.compiler).chosen(made[-1])
    return made
