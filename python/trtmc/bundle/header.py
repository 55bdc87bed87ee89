"""The bundle header, version 1: typed records.

Field order is the order of checks and part of the format's error contract (the C++ reader follows it); on disk, keys
are sorted. The records hold what they say and do nothing; `relations` compares them with each other.

This module does not know bytes, files or offsets on disk; see canonical, layout, reader and writer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from trtmc.bundle import relations, schema
from trtmc.bundle.canonical import JsonValue, decode, encode
from trtmc.bundle.schema import Between, Count, Matches, OneOf, Positive, Text

IDENTIFIER = Matches(r"[a-z][a-z0-9_]{0,63}", "a lower-case identifier of at most 64 characters")
HEX_DIGEST = Matches(r"[0-9a-f]{64}", "a SHA-256 as 64 lower-case hexadecimal digits")
MEDIA_TYPE = Matches(r"[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}", "a media type such as application/json")
DTYPES = (
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int8",
    "uint8",
    "bool",
    "float8_e4m3",
    "int4",
    "float4_e2m1",
    "float8_e8m0",
)
STORED_DTYPES = tuple(name for name in DTYPES if name not in ("int4", "float4_e2m1"))
STEPS = ("reshape", "cast")

Identifier = Annotated[str, IDENTIFIER]
Digest = Annotated[str, HEX_DIGEST]
Line = Annotated[str, Text()]
Size = Annotated[int, Between(0)]
Dim = Annotated[int, Between(1, 2**40)]
Dimension = Dim | Identifier
TokenId = Annotated[int, Between(0, 2**31 - 1)]


@dataclass(frozen=True)
class Target:
    """What engines were compiled for; the twin of trtmc.core.target.TargetInfo."""

    name: Identifier
    compiler: Identifier
    compiler_version: Line
    cuda_version: Line | None
    compute_capability: Line | None
    os: Identifier
    arch: Identifier


@dataclass(frozen=True)
class TensorSpec:
    """One named input or output of an engine; a dimension is a size or the name of a dynamic one."""

    name: Line
    dtype: Annotated[str, OneOf(DTYPES)]
    shape: Annotated[tuple[Dimension, ...], Count(0, 8)]


@dataclass(frozen=True)
class StatePair:
    """`output` is written to the memory of `input`."""

    input: Line
    output: Line


@dataclass(frozen=True)
class Profile:
    """Ranges [min, opt, max] of the dynamic dimensions that one optimization profile serves."""

    name: Identifier
    dims: dict[Identifier, Annotated[tuple[Dim, ...], Count(3, 3)]]


@dataclass(frozen=True)
class Limits:
    """Largest batch and sequence; a sequence of 0 means that the component has none."""

    max_batch: Dim
    max_sequence: Annotated[int, Between(0, 2**40)]


@dataclass(frozen=True)
class Contract:
    """What an engine takes and gives."""

    inputs: Annotated[tuple[TensorSpec, ...], Count(1, 65536)]
    outputs: Annotated[tuple[TensorSpec, ...], Count(1, 65536)]
    state: tuple[StatePair, ...]
    profiles: tuple[Profile, ...]
    limits: Limits

    @staticmethod
    def from_json(value: JsonValue, where: str = "contract") -> Contract:
        """Strict reader; raises a Fault."""
        contract = schema.read(Contract, value, where)
        relations.check_contract(contract, where)
        return contract


@dataclass(frozen=True)
class WeightBinding:
    """A weight input of an engine, which is no input of its contract: the stored tensor and the way to it.

    Steps in order: `reshape` to this shape, `cast` to this dtype (to the nearest, ties to even); each only if needed.
    """

    input: Line
    dtype: Annotated[str, OneOf(DTYPES)]
    shape: Annotated[tuple[Dim, ...], Count(0, 8)]
    tensor: Line
    steps: Annotated[tuple[Annotated[str, OneOf(STEPS)], ...], Count(0, 2)]


@dataclass(frozen=True)
class Engine:
    """One compiled network: its target, the section that holds it, its contract and how it was built."""

    target: Identifier
    section: Line
    contract: Contract
    weights: Annotated[tuple[WeightBinding, ...], Count(0, 65536)]
    options: dict[Identifier, str | int | float | bool | None]


@dataclass(frozen=True)
class Component:
    """One part of the model, with one engine for each of the bundle's targets, in their order."""

    name: Identifier
    engines: Annotated[tuple[Engine, ...], Count(1, 64)]


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of the checkpoint in its own type; `offset` counts from the start of the section."""

    name: Line
    dtype: Annotated[str, OneOf(STORED_DTYPES)]
    shape: Annotated[tuple[Dim, ...], Count(0, 8)]
    offset: Size


@dataclass(frozen=True)
class StoredWeights:
    """Weights that stand outside of the engines, once for all of them."""

    section: Line
    tensors: Annotated[tuple[StoredTensor, ...], Count(1, 65536)]


@dataclass(frozen=True)
class SamplingDefaults:
    """The checkpoint's own generation settings; null where it has none."""

    do_sample: bool | None = None
    temperature: Annotated[float, Between(0.0, 1e6)] | None = None
    top_k: Annotated[int, Between(0, 2**31 - 1)] | None = None
    top_p: Annotated[float, Positive(1.0)] | None = None
    min_p: Annotated[float, Between(0.0, 1.0)] | None = None
    repetition_penalty: Annotated[float, Positive(1e6)] | None = None


@dataclass(frozen=True)
class TextGeneration:
    """Facts that the task text_generation_causal needs."""

    vocab_size: Annotated[int, Between(1, 2**31 - 1)]
    max_sequence: Dim
    bos_token_id: TokenId | None
    eos_token_ids: tuple[TokenId, ...]
    pad_token_id: TokenId | None
    sampling: SamplingDefaults


@dataclass(frozen=True)
class Assets:
    """Names of the sections that play a known role; null where the model has none."""

    tokenizer: Line | None = None
    tokenizer_config: Line | None = None
    chat_template: Line | None = None


@dataclass(frozen=True)
class Section:
    """One run of bytes in the file."""

    name: Line
    offset: Size
    length: Annotated[int, Between(1)]
    sha256: Digest
    media_type: Annotated[str, MEDIA_TYPE]


@dataclass(frozen=True)
class CheckpointFile:
    """One file of the checkpoint that the bundle was built from."""

    name: Line
    size: Size
    sha256: Digest


@dataclass(frozen=True)
class CheckpointInfo:
    """The content of checkpoint.json: where the model came from, file by file, sorted by name."""

    version: Annotated[int, Between(1, 1)]
    source: Annotated[str, Text(1024)]
    revision: Line
    files: tuple[CheckpointFile, ...]


@dataclass(frozen=True)
class Builder:
    """The builder that made the bundle: its version and a digest of its sources."""

    version: Line
    source_sha256: Digest


@dataclass(frozen=True)
class Provenance:
    """How the bundle came to be; for people and audits, nothing acts on it."""

    checkpoint: CheckpointInfo
    builder: Builder


@dataclass(frozen=True)
class BundleHeader:
    """The whole header. `sections` may be left empty when handed to the writer, which fills it."""

    kind: Annotated[str, OneOf(("native", "optimized"))]
    family: Identifier
    task: Identifier
    runtime_strategy: Identifier | None
    targets: Annotated[tuple[Target, ...], Count(1, 64)]
    components: Annotated[tuple[Component, ...], Count(0, 256)]
    weights: StoredWeights | None
    text_generation: TextGeneration | None
    assets: Assets
    sections: Annotated[tuple[Section, ...], Count(1, 65536)]
    provenance: Provenance

    def to_json(self) -> JsonValue:
        """The JSON value of the header."""
        return schema.write(self)

    def encode(self) -> bytes:
        """The header as stored."""
        return encode(self.to_json())

    @staticmethod
    def decode(data: bytes) -> BundleHeader:
        """Reads stored bytes; every record and every relation between records is checked, offsets are not."""
        header = schema.read(BundleHeader, decode(data), "top level")
        relations.check(header)
        return header
