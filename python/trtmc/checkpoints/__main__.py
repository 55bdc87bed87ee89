"""Command line of this package: `python -m trtmc.checkpoints {gguf,ingest,hub,tiny} … -o OUT`.

Each command fills one folder in the Hugging Face layout. With --source and --revision, `gguf` and `tiny` add
checkpoint.json. Errors are one sentence; the exit codes are those of trtmc-build.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

from trtmc.checkpoints.hub import HubModel, download
from trtmc.checkpoints.ingest import ingest_folder
from trtmc.checkpoints.tiny import TinySpec, generate_tiny
from trtmc.core.errors import ExitCode, TrtmcError, UsageError


def main(arguments: list[str] | None = None) -> int:
    """Parses, acts, and turns errors into sentences."""
    options = _parser().parse_args(arguments)
    try:
        options.act(options)
    except TrtmcError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.OK)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m trtmc.checkpoints", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    gguf = _command(commands, "gguf", "convert a GGUF file of the llama architecture", _gguf)
    gguf.add_argument("file", type=Path)
    gguf.add_argument("--dtype", choices=("float16", "float32"), default="float16")
    ingest = _command(commands, "ingest", "take the checkpoint files of a folder, links replaced", _ingest)
    ingest.add_argument("folder", type=Path)
    hub = _command(commands, "hub", "download pinned files of a model at an exact revision", _hub)
    hub.add_argument("model", help="organisation/name")
    hub.add_argument("--file", action="append", required=True, metavar="NAME=SHA256")
    hub.add_argument("--endpoint", default="", help="base URL of the hub; by default that of HF_ENDPOINT")
    tiny = _command(commands, "tiny", "generate a tiny random checkpoint", _tiny)
    tiny.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a field of TinySpec")
    return parser


def _command(
    commands: argparse._SubParsersAction, name: str, text: str, act: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    command.add_argument("-o", "--output", type=Path, required=True)
    command.add_argument("--source", default="", help="where the files came from, such as wheel:name==1.0")
    command.add_argument("--revision", default="", help="exact revision or hash of the source")
    command.set_defaults(act=act)
    return command


def _filled(options: argparse.Namespace, fill: Callable[[Path], None]) -> None:
    """Runs `fill` on the output, or on a scratch folder that is then ingested with the source and revision."""
    if not options.source and not options.revision:
        fill(options.output)
        return
    if not options.source or not options.revision:
        raise UsageError("checkpoint.source", "--source and --revision go together")
    with tempfile.TemporaryDirectory(dir=options.output.parent, prefix=".gathered.") as scratch:
        fill(Path(scratch) / "files")
        ingest_folder(Path(scratch) / "files", options.output, options.source, options.revision)


def _gguf(options: argparse.Namespace) -> None:
    from trtmc.checkpoints.gguf import convert_gguf  # needs the gguf package, which the other commands do not

    _filled(options, lambda out: convert_gguf(options.file, out, options.dtype))


def _ingest(options: argparse.Namespace) -> None:
    if not options.source or not options.revision:
        raise UsageError("checkpoint.source", "ingest needs --source and --revision")
    ingest_folder(options.folder, options.output, options.source, options.revision, _say)


def _hub(options: argparse.Namespace) -> None:
    pairs = [pair.rpartition("=") for pair in options.file]
    model = HubModel(options.endpoint, options.model, options.revision, {name: sha256 for name, _, sha256 in pairs})
    download(model, options.output, _say)


def _tiny(options: argparse.Namespace) -> None:
    kinds = {field.name: type(field.default) for field in fields(TinySpec)}
    values: dict[str, object] = {}
    for pair in options.set:
        key, _, text = pair.partition("=")
        if key not in kinds:
            raise UsageError("tiny.spec", f"'{key}' is no field; known: {', '.join(kinds)}")
        try:
            values[key] = {"true": True, "false": False}[text] if kinds[key] is bool else kinds[key](text)
        except (KeyError, ValueError):
            raise UsageError("tiny.spec", f"{key}: '{text}' is no {kinds[key].__name__}") from None
    _filled(options, lambda out: generate_tiny(out, TinySpec(**values)))  # type: ignore[arg-type]


def _say(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
