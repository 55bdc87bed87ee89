"""Entry point: commands, and the one place where errors become sentences and exit codes.

Whatever goes wrong, the user sees `error: <sentence>` on stderr and an exit code of `trtmc.core.errors.ExitCode`;
with --json also {"error": {"code", "message"}} on stdout. Commands never print errors themselves.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from trtmc import heap
from trtmc.cli.build_command import build
from trtmc.cli.bundle_commands import inspect, verify
from trtmc.cli.checkpoint_command import checkpoint
from trtmc.cli.console import compact_json
from trtmc.cli.engine_command import engine
from trtmc.cli.network_command import network
from trtmc.cli.pack_command import pack
from trtmc.core.errors import ExitCode, ResourceError, TrtmcError
from trtmc.core.version import VERSION

_EPILOG = """Exit codes: 0 ok, 1 internal, 2 usage, 3 bad input, 4 unsupported, 5 target mismatch, 6 missing component,
7 out of disk or memory, 130 interrupted."""


class _DefaultToBuild(click.Group):
    """`trtmc-build CHECKPOINT …` is `trtmc-build build CHECKPOINT …`."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            args = ["build", *args]
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((a for a in args if not a.startswith("-")), None)
        own = {"--help", "--version"}
        if args and args[0] not in self.commands and args[0] not in own and first not in self.commands:
            args = ["build", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_DefaultToBuild, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="trtmc-build")
def cli() -> None:
    """Turn a trained checkpoint into a deployable bundle.

    trtmc-build CHECKPOINT -o X.bundle does everything in one go; the other commands are its steps.
    """


for _command in (build, checkpoint, engine, network, pack, inspect, verify):
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs the command line and exits."""
    heap.own_process()
    sys.exit(run(list(sys.argv[1:] if arguments is None else arguments)))


def run(arguments: list[str]) -> int:
    """Runs one command line and returns its exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda received, _frame: sys.exit(128 + received))  # so that clean-up runs
    as_json = "--json" in arguments
    try:
        result = cli.main(arguments, prog_name="trtmc-build", standalone_mode=False)
        sys.stdout.flush()  # an answer that did not arrive is no success
        return result if isinstance(result, int) else int(ExitCode.OK)
    except TrtmcError as error:
        return _report(error.code, error.message, error.exit_code, as_json)
    except click.UsageError as error:
        hint = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
        return _report("cli.usage", error.format_message() + hint, ExitCode.USAGE, as_json)
    except click.ClickException as error:
        return _report("cli.usage", error.format_message(), ExitCode.USAGE, as_json)
    except (KeyboardInterrupt, click.Abort):
        return _report("cli.interrupted", "interrupted; nothing was left half-written", ExitCode.INTERRUPTED, as_json)
    except MemoryError:
        return _report(
            "cli.memory", "out of memory; close other programs or use a machine with more", ExitCode.RESOURCE, as_json
        )
    except BrokenPipeError:
        _drop_output()
        return int(ExitCode.INTERNAL)
    except OSError as error:
        known = _resource_error(error)
        return _report(known.code, known.message, known.exit_code, as_json)
    except Exception as error:  # the last line of defence
        traceback.print_exc()
        return _report(
            "cli.internal",
            f"internal error, please report it with the lines above: {error}",
            ExitCode.INTERNAL,
            as_json,
        )


def _resource_error(error: OSError) -> ResourceError:
    where = f"{error.filename}: " if error.filename else ""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    advice = "free space or choose another folder" if full else "check the path and its permissions"
    return ResourceError("cli.disk_full" if full else "cli.io", f"{where}{error.strerror}; {advice}")


def _report(code: str, message: str, exit_code: ExitCode, as_json: bool) -> int:
    print(f"error: {message}", file=sys.stderr)
    try:
        if as_json:
            print(compact_json({"error": {"code": code, "message": message}}))
        sys.stdout.flush()
    except OSError:  # the full disk that is being reported
        _drop_output()
    return int(exit_code)


def _drop_output() -> None:
    """Sends what is still buffered nowhere; the interpreter would complain about it while shutting down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
