"""`trtmc-build network run`: any TensorRT network on the CPU, from an ONNX file or a script."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import click
import numpy as np

from trtmc.cli import options as shared
from trtmc.cli.console import Console
from trtmc.cli.outputs import Outputs, check_outputs
from trtmc.core.errors import MissingComponent, UsageError

_SIZE = re.compile(r"[0-9]{1,10}")
_MOST = 2**31 - 1


@click.group()
def network() -> None:
    """Work with networks that no family made: ONNX files and scripts."""


@network.command("run")
@click.argument("model", type=shared.FILE)
@click.option(
    "--input",
    "given",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Input values: NAME=FILE.npy for one, FILE.npz for several. What is not given is random.",
)
@click.option("--shape", "shapes", multiple=True, metavar="NAME=N,N,…", help="Shape of an input with dynamic sizes.")
@click.option(
    "--range", "ranges", multiple=True, metavar="NAME=LOW,HIGH", help="Random values of an input lie in this range."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the random values.")
@click.option("-o", "--output", type=shared.FILE, help="Write all outputs to this .npz file.")
@click.option("--layers", is_flag=True, help="List the network's layers and what the CPU refuses; run nothing.")
@shared.output_form
def run(
    model: Path,
    given: tuple[str, ...],
    shapes: tuple[str, ...],
    ranges: tuple[str, ...],
    seed: int,
    output: Path | None,
    layers: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run MODEL on the CPU.

    MODEL is an ONNX file, which TensorRT's own parser turns into a network, or a Python script (.py) that defines one.
    Prints the range, the mean and the first values of each output.
    """
    console = Console(quiet=quiet, as_json=as_json)
    check_outputs([output], [model, *(Path(text.rpartition("=")[2]) for text in given)])
    try:
        from trtmc.network import describe
        from trtmc.network.load import load, read
    except ModuleNotFoundError as error:
        raise MissingComponent(
            "network.package_missing", f"running networks needs the Python package '{error.name}'; install it"
        ) from error
    loaded = load(model)
    if layers:
        found = describe.layers(read(loaded))
        console.result(describe.layers_text(found), {"model": str(model), "layers": found})
        return
    console.progress(f"compiling {loaded.network.num_layers} layers for the CPU")
    wide = describe.wide_integers(read(loaded))
    if wide:
        console.progress(
            f"warning: {len(wide)} layers compute 64-bit integers in 32 bits, the first is '{wide[0]}': "
            "larger results are cut or wrap"
        )
    used, results = _run(loaded, given, shapes, ranges, seed)
    if output:
        with Outputs() as outputs, outputs.stage(output).open("wb") as file:
            np.savez(file, **{spec.name: array for spec, array in results})
    entries = [describe.figures(spec, array) for spec, array in results]
    value = {"model": str(model), "inputs": used, "outputs": entries, "output": str(output) if output else None}
    text = "\n".join(describe.figures_text(entry) for entry in entries)
    console.result(text + (f"\nwritten to {output}" if output else ""), value)


def _run(loaded: Any, files: Any, shapes: Any, ranges: Any, seed: int) -> tuple[list[dict[str, Any]], list[Any]]:
    """The inputs that were used, and (spec, array) of every output."""
    from trtmc.network import arrays
    from trtmc.network.cpu import CpuNetwork

    sizes = {name: _sizes(text) for name, text in shared.key_values(shapes, "--shape").items()}
    between = {name: _range(text) for name, text in shared.key_values(ranges, "--range").items()}
    read = _read(files)
    compiled = CpuNetwork(loaded)
    specs = {spec.name: spec for spec in compiled.inputs}
    given = {
        name: arrays.taken(specs[name], array, origin, sizes.get(name))
        if name in specs
        else arrays.Given(array, array.shape, origin)
        for name, (array, origin) in read.items()
    }
    used = arrays.complete(compiled.inputs, given, sizes, between, seed)
    results = compiled.run({name: item.array for name, item in used.items()})
    inputs = [
        {"name": name, "dtype": specs[name].dtype.value, "shape": list(item.shape), "from": item.origin}
        for name, item in used.items()
    ]
    return inputs, [(spec, results[spec.name]) for spec in compiled.outputs]


def _read(files: tuple[str, ...]) -> dict[str, tuple[np.ndarray, str]]:
    from trtmc.network import arrays

    found: dict[str, tuple[np.ndarray, str]] = {}
    for text in files:
        name, equals, path = text.partition("=")
        several = {name: arrays.read_array(Path(path))} if equals else arrays.read_arrays(Path(text))
        for key, array in several.items():
            if key in found:
                raise UsageError(
                    "network.input_twice", f"--input gives '{key}' twice: in {found[key][1]} and in {text}"
                )
            found[key] = (array, path or text)
    return found


def _sizes(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")] if text.strip() != "scalar" else []
    if not all(_SIZE.fullmatch(part) for part in parts):
        raise UsageError("network.input_shape", f"--shape {text!r} must be sizes like 1,3,224 (or the word scalar)")
    sizes = tuple(int(part) for part in parts)
    if math.prod(sizes) > _MOST:
        raise UsageError(
            "network.input_shape", f"--shape {text!r}: {math.prod(sizes)} values; at most {_MOST} are possible"
        )
    return sizes


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise UsageError("network.input_range", f"--range {text!r} must be two numbers like 0,9") from None
    if not (math.isfinite(low) and math.isfinite(high)):
        raise UsageError("network.input_range", f"--range {text!r}: both numbers must be finite")
    if not low <= high:
        raise UsageError("network.input_range", f"--range {text!r}: {low:g} is more than {high:g}")
    return low, high
