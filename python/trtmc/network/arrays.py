"""The inputs of a run: read from .npy and .npz files or drawn at random, and checked against the network.

Values of types that numpy lacks travel as unsigned integers of their width; four-bit ones as packed bytes, two to a
byte with the first in the low half. Knows nothing of how a network runs.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trtmc.core.contract import TensorSpec
from trtmc.core.dtype import COMPUTE_DTYPES, DType
from trtmc.core.errors import BadInput, UsageError

_INT32 = 2**31 - 1
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Given:
    """One input's array and where it came from."""

    array: np.ndarray
    shape: Shape  # in elements, also where four-bit values are packed
    origin: str


def read_array(path: Path) -> np.ndarray:
    """One .npy file."""
    loaded = _load(path)
    if not isinstance(loaded, np.ndarray):
        raise BadInput("network.input_file", f"{path}: is an archive of several arrays; give it without a name")
    return loaded


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """An .npz file: name -> array."""
    loaded = _load(path)
    if isinstance(loaded, np.ndarray):
        raise BadInput("network.input_file", f"{path}: is a single array; say which input it is with NAME={path}")
    try:
        return {name: loaded[name] for name in loaded.files}
    except (ValueError, OSError, zlib.error, zipfile.BadZipFile) as error:
        raise BadInput("network.input_file", f"{path}: {error}") from None


def _load(path: Path) -> np.ndarray | np.lib.npyio.NpzFile:
    try:
        return np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise BadInput("network.no_file", f"{path}: no such file") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise BadInput("network.input_file", f"{path}: not a .npy or .npz file of plain numbers: {error}") from None


def complete(
    specs: Sequence[TensorSpec],
    given: Mapping[str, Given],
    shapes: Mapping[str, Shape],
    ranges: Mapping[str, tuple[float, float]],
    seed: int,
) -> dict[str, Given]:
    """Every input of the network: what is given, checked, and random values for the rest."""
    names = [spec.name for spec in specs]
    for option, used in (("--input", given), ("--shape", shapes), ("--range", ranges)):
        for name in used:
            if name not in names:
                raise UsageError(
                    "network.input_name", f"{option}: the network has no input '{name}'; it has {', '.join(names)}"
                )
    dims: dict[str, tuple[int, str]] = {}
    for spec in specs:
        if spec.name in given:
            check(spec, given[spec.name], dims)
    result = {}
    for spec in specs:
        if spec.name not in given:
            shape = _chosen_shape(spec, shapes.get(spec.name), dims)
            drawn = Given(random_array(spec, shape, ranges.get(spec.name), seed), shape, f"random, seed {seed}")
            check(spec, drawn, dims)
            result[spec.name] = drawn
        else:
            result[spec.name] = given[spec.name]
    return {name: result[name] for name in names}


def taken(spec: TensorSpec, array: np.ndarray, origin: str, shape: Shape | None = None) -> Given:
    """A user's array for an input: packed values need the shape that they stand for."""
    if spec.dtype.bits < 8 and array.dtype == np.uint8:
        if shape is None and not any(isinstance(d, str) for d in spec.shape):
            shape = tuple(int(d) for d in spec.shape)
        if shape is None:
            raise UsageError("network.input_shape", f"input '{spec.name}' holds packed {spec.dtype}: give its --shape")
        return Given(array.reshape(-1), shape, origin)
    return Given(array, tuple(array.shape), origin)


def check(spec: TensorSpec, given: Given, dims: dict[str, tuple[int, str]]) -> None:
    """Type, rank and sizes; `dims` collects the named ones, which must be the same wherever they occur."""
    where = f"input '{spec.name}' ({given.origin})"
    if given.array.dtype != spec.dtype.storage:
        held = "" if spec.dtype.storage.name == spec.dtype.value else f", held in {spec.dtype.storage}"
        raise BadInput(
            "network.input_dtype", f"{where}: the network wants {spec.dtype}{held}; found {given.array.dtype}"
        )
    wanted = f"[{', '.join(map(str, spec.shape))}]"
    if len(given.shape) != len(spec.shape):
        raise BadInput("network.input_shape", f"{where}: the network wants {wanted}; found {list(given.shape)}")
    for axis, (size, dim) in enumerate(zip(given.shape, spec.shape, strict=True)):
        known, by = dims.setdefault(dim, (size, spec.name)) if isinstance(dim, str) else (dim, "")
        if size != known:
            why = f"; input '{by}' has {dim} = {known}" if by else ""
            raise BadInput(
                "network.input_shape",
                f"{where}: the network wants {wanted}; found {list(given.shape)}, which differs at axis {axis}{why}",
            )
    if spec.dtype is DType.I64 and given.array.size:
        least, greatest = int(given.array.min()), int(given.array.max())
        if max(-least, greatest) > _INT32:
            raise BadInput(
                "network.input_range",
                f"{where}: values from {least} to {greatest}; the CPU computes 64-bit integers in 32 bits",
            )
    bits = math.prod(given.shape) * spec.dtype.bits
    if spec.dtype.bits < 8 and given.array.nbytes != -(-bits // 8):
        raise BadInput(
            "network.input_shape",
            f"{where}: {list(given.shape)} of {spec.dtype} take {-(-bits // 8)} bytes; found {given.array.nbytes}",
        )


def _chosen_shape(spec: TensorSpec, shape: Shape | None, dims: Mapping[str, tuple[int, str]]) -> Shape:
    if shape is not None:
        return shape
    sizes = [dims[d][0] if isinstance(d, str) and d in dims else d for d in spec.shape]
    unknown = [d for d in sizes if isinstance(d, str)]
    if unknown:
        text = ",".join(str(d) for d in sizes)
        raise UsageError(
            "network.input_shape",
            f"input '{spec.name}' has dynamic dimensions ({text}): give it as a file or choose --shape {spec.name}="
            + ",".join("N" if isinstance(d, str) else str(d) for d in sizes),
        )
    return tuple(int(d) for d in sizes)


def _check_range(spec: TensorSpec, between: tuple[float, float]) -> None:
    """Both ends must be values that the type has."""
    dtype = spec.dtype
    if dtype in COMPUTE_DTYPES:
        most = float(np.finfo(np.float16 if dtype is DType.F16 else np.float32).max)
        low, high = -most, most
    elif dtype is DType.BOOL:
        low, high = 0, 1
    elif dtype.is_float or dtype.bits < 8:
        raise UsageError("network.input_range", f"--range: input '{spec.name}' is {dtype}, whose codes have no range")
    else:
        limits = np.iinfo(np.int32 if dtype is DType.I64 else dtype.storage)
        low, high = int(limits.min), int(limits.max)
    if between[0] < low or between[1] > high:
        asked = f"--range {spec.name}={between[0]:g},{between[1]:g}"
        raise UsageError("network.input_range", f"{asked}: the input is {dtype}, which takes {low:g} to {high:g}")


def random_array(spec: TensorSpec, shape: Shape, between: tuple[float, float] | None, seed: int) -> np.ndarray:
    """Normal floats, integers that are 0 or 1; or even over a range. Depends on the seed and the input's name alone."""
    if between is not None:
        _check_range(spec, between)
    generator = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
    dtype = spec.dtype
    if dtype in COMPUTE_DTYPES:
        drawn = generator.standard_normal(shape) if between is None else generator.uniform(*between, shape)
        narrow = drawn.astype(np.float32)
        if dtype is DType.BF16:
            return (np.asarray(narrow).view(np.uint32) >> 16).astype(np.uint16)
        return narrow.astype(dtype.storage)
    if dtype.is_float or dtype.bits < 8:  # any pattern of bits but those of NaN
        count = -(-math.prod(shape) * dtype.bits // 8)
        raw = generator.integers(0, 127, count, np.uint8)
        return raw if dtype.bits < 8 else raw.reshape(shape)
    low, high = between if between is not None else (0, 1)
    return generator.integers(int(low), int(high), shape, np.int64, endpoint=True).astype(dtype.storage)
