"""The tensors of a checkpoint, sharded or not, and the ledger of which were used.

`WeightFiles` merges the safetensors files of a folder (checked against the index, if there is one). `WeightSource`
hands tensors out by name, converted to the precision of the build, and `finish` refuses whatever nobody took. A
tensor that needs no conversion is a view into the memory map: building copies nothing. With external weights, large
matrices are checked as if they were converted and stay where they are. Knows no model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from trtmc.core.config import read_json_object
from trtmc.core.contract import WeightBinding
from trtmc.core.dtype import COMPUTE_DTYPES, DType
from trtmc.core.errors import BadInput
from trtmc.core.precision import check_finite, check_fits, convert
from trtmc.core.safetensors import SafetensorsFile, TensorEntry

INDEX_NAME = "model.safetensors.index.json"
SINGLE_NAME = "model.safetensors"


EXTERNAL_BYTES = 64 << 10
"""A tensor of at least two dimensions and of at least this size in the checkpoint can stand outside of an engine.

Smaller ones (norms, biases) are what compilers fold and fuse, and all of them together are little.
"""


class Weights(Enum):
    """Where an engine's weights are: in its own file, or, the large ones, once in the bundle for all engines."""

    EMBEDDED = "embedded"
    EXTERNAL = "external"


@dataclass(frozen=True)
class ConstantData:
    """A named constant ready for a network: `array` is C-contiguous, aligned and in the storage type of `dtype`.

    With a `binding` it becomes an input of the network instead; `array` is empty then: nothing may read its values.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    array: np.ndarray
    binding: WeightBinding | None = None


class WeightFiles:
    """All safetensors files of one checkpoint folder, open and validated."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._owner: dict[str, SafetensorsFile] = {}
        index, single = folder / INDEX_NAME, folder / SINGLE_NAME
        if index.exists() and single.exists():
            raise BadInput(
                "weights.ambiguous",
                f"{folder}: has both {SINGLE_NAME} and {INDEX_NAME}; remove the one that is not meant",
            )
        if index.exists():
            self._open_shards(index)
        elif single.exists():
            self._add(SafetensorsFile(single))
        else:
            raise BadInput(
                "weights.missing_file",
                f"{folder}: found neither {SINGLE_NAME} nor {INDEX_NAME}; only safetensors weights are read",
            )

    def names(self) -> list[str]:
        """All tensor names, sorted."""
        return sorted(self._owner)

    def __contains__(self, name: str) -> bool:
        return name in self._owner

    def entry(self, name: str) -> TensorEntry:
        """Type, shape and place of a tensor."""
        return self._owner[name].entries[name]

    def array(self, name: str) -> np.ndarray:
        """Zero-copy view."""
        return self._owner[name].array(name)

    def release(self, name: str) -> None:
        """Lets the kernel drop the tensor's pages."""
        self._owner[name].release(name)

    def release_all(self) -> None:
        """Lets the kernel drop the pages of all tensors."""
        for file in set(self._owner.values()):
            file.release_all()

    def file_of(self, name: str) -> Path:
        """The file that holds the tensor."""
        return self._owner[name].path

    def files(self) -> list[Path]:
        """The safetensors files in use, sorted."""
        return sorted({file.path for file in self._owner.values()})

    def dominant_dtype(self) -> DType:
        """The floating type that holds most bytes: what the checkpoint was saved in."""
        sizes = dict.fromkeys(COMPUTE_DTYPES, 0)
        for name in self._owner:
            dtype = self.entry(name).dtype
            if dtype in sizes:
                sizes[dtype] += self.entry(name).nbytes
        best = max(sizes, key=lambda dtype: sizes[dtype])
        if not sizes[best]:
            raise BadInput(
                "weights.dtype",
                f"{self.folder}: no tensor is stored as float32, float16 or bfloat16; pass a precision and a "
                "floating checkpoint",
            )
        return best

    def _add(self, file: SafetensorsFile) -> None:
        for name in file.entries:
            if name in self._owner:
                raise BadInput(
                    "weights.duplicate_tensor",
                    f"tensor '{name}' stands in {self._owner[name].path.name} and in {file.path.name}",
                )
            self._owner[name] = file

    def _open_shards(self, index: Path) -> None:
        content = read_json_object(index, "weights.index")
        mapping = content.get("weight_map")
        if not isinstance(mapping, dict) or not mapping or not all(isinstance(v, str) for v in mapping.values()):
            raise BadInput("weights.index.schema", f"{index}: 'weight_map' must map tensor names to file names")
        for shard in sorted(set(mapping.values())):
            if Path(shard).name != shard or shard in ("", ".", ".."):
                raise BadInput(
                    "weights.index.path", f"{index}: shard name '{shard}' must be a plain file name in the same folder"
                )
            if not (self.folder / shard).exists():
                raise BadInput(
                    "weights.missing_shard",
                    f"{index}: shard '{shard}' is not there; the download looks incomplete, fetch it again",
                )
            self._add(SafetensorsFile(self.folder / shard))
        for name, shard in mapping.items():
            if name not in self._owner:
                raise BadInput(
                    "weights.index.missing_tensor",
                    f"{index}: tensor '{name}' should be in '{shard}' but is not; the download looks "
                    "incomplete, fetch it again",
                )
            if self._owner[name].path.name != shard:
                raise BadInput(
                    "weights.index.wrong_shard",
                    f"{index}: tensor '{name}' should be in '{shard}' but is in '{self._owner[name].path.name}'",
                )
        unlisted = sorted(set(self._owner) - set(mapping))
        if unlisted:
            raise BadInput("weights.index.unlisted", f"{index}: does not list {_names(unlisted)}, found in the shards")


class WeightSource:
    """Hands out tensors at one precision and remembers which were taken."""

    def __init__(
        self,
        files: WeightFiles,
        dtype: DType,
        weights: Weights = Weights.EMBEDDED,
        external_bytes: int = EXTERNAL_BYTES,
    ) -> None:
        self.files = files
        self.dtype = dtype
        self.weights = weights
        self.external_bytes = external_bytes
        self._taken: set[str] = set()
        self.converted_bytes = 0  # what had to be copied; zero when the checkpoint already has this precision

    def take(self, name: str, shape: tuple[int, ...], dtype: DType | None = None) -> ConstantData:
        """Tensor `name`, which must have `shape`, as `dtype` (the build's precision by default)."""
        if name not in self.files:
            raise self.missing([name])
        entry = self.files.entry(name)
        if entry.shape != shape:
            where = self.files.file_of(name).name
            raise BadInput(
                "weights.shape",
                f"{where}: tensor '{name}' has shape {list(entry.shape)}, but the config asks for {list(shape)}",
            )
        self._taken.add(name)
        target = dtype or self.dtype
        data = self.files.array(name)
        check_finite(data, entry.dtype, name)
        if self._stays_outside(entry):
            check_fits(data, entry.dtype, target, name)
            self.files.release(name)
            steps = ("cast",) if entry.dtype is not target else ()
            binding = WeightBinding(name, target, shape, name, steps)
            return ConstantData(name, target, shape, np.empty(0, target.storage), binding)
        array = convert(data, entry.dtype, target, name)
        if array is data and not (data.flags.aligned and data.flags.c_contiguous):
            array = data.copy()
        if array is not data:
            self.converted_bytes += array.nbytes
            self.files.release(name)
        return ConstantData(name, target, shape, array)

    def _stays_outside(self, entry: TensorEntry) -> bool:
        large = len(entry.shape) >= 2 and entry.nbytes >= self.external_bytes
        return self.weights is Weights.EXTERNAL and large and entry.dtype in COMPUTE_DTYPES

    def same_bytes(self, first: str, second: str) -> bool:
        """True if two tensors are stored identically."""
        a, b = self.files.entry(first), self.files.entry(second)
        return (
            a.format_dtype == b.format_dtype
            and a.shape == b.shape
            and np.array_equal(
                self.files.array(first).reshape(-1).view(np.uint8), self.files.array(second).reshape(-1).view(np.uint8)
            )
        )

    def require(self, names: Iterable[str], reasons: Mapping[str, str] | None = None) -> None:
        """Refuses at once, before any work, if one of the names is not in the checkpoint."""
        absent = [name for name in names if name not in self.files]
        if absent:
            raise self.missing(absent, reasons or {})

    def skip(self, name: str) -> None:
        """Counts a tensor as used although it isn't needed, after the caller checked that this is right."""
        self._taken.add(name)

    def finish(self, ignore: Mapping[str, str]) -> None:
        """Refuses every tensor nobody took, unless a pattern in `ignore` (pattern -> reason) matches it."""
        left = [n for n in self.files.names() if n not in self._taken and not any(fnmatchcase(n, p) for p in ignore)]
        if left:
            raise BadInput(
                "weights.unused_tensor",
                f"{self.files.folder}: nothing uses {_names(left)}; the config does not describe this checkpoint",
            )

    def missing(self, absent: list[str], reasons: Mapping[str, str] = {}) -> BadInput:
        """The error for tensors that the config asks for and the checkpoint lacks."""
        why = "".join(f" ({reasons[name]})" for name in absent if name in reasons)
        return BadInput(
            "weights.missing_tensor",
            f"{self.files.folder}: the checkpoint lacks {_names(absent)}{why}; the config asks for "
            f"{'it' if len(absent) == 1 else 'them'}",
        )


def _names(names: list[str], limit: int = 5) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:limit])
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"tensor{'s' if len(names) > 1 else ''} {shown}{more}"
