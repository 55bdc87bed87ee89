"""The bundle header, version 1: typed records, and the checks that no single record can make.

Field order is the order of checks and part of the format's error contract (the C++ reader follows it); on disk, keys
are sorted. The records hold what they say and do nothing; `check` compares them with each other.

This module does not know bytes, files or offsets on disk; see canonical, layout, reader and writer.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Annotated

from trtmc.bundle import schema
from trtmc.bundle.canonical import JsonValue, decode, encode
from trtmc.bundle.rules import Fault, Rule
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
TEXT_GENERATION = "text_generation_causal"

Identifier = Annotated[str, IDENTIFIER]
Digest = Annotated[str, HEX_DIGEST]
Line = Annotated[str, Text()]
Size = Annotated[int, Between(0)]
Dim = Annotated[int, Between(1, 2**40)]
Dimension = Dim | Identifier
TokenId = Annotated[int, Between(0, 2**31 - 1)]


@dataclass(frozen=True)
class Target:
    """What the engines were compiled for; the twin of trtmc.core.target.TargetInfo."""

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
        _check_contract(contract, where)
        return contract


@dataclass(frozen=True)
class Component:
    """One engine: the section that holds it and its contract."""

    name: Identifier
    engine: Line
    contract: Contract


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
class Compiler:
    """The engine compiler."""

    name: Identifier
    version: Line


@dataclass(frozen=True)
class Provenance:
    """How the bundle came to be; for people and audits, nothing acts on it."""

    checkpoint: CheckpointInfo
    builder: Builder
    compiler: Compiler
    options: dict[Identifier, str | int | float | bool | None]


@dataclass(frozen=True)
class BundleHeader:
    """The whole header. `sections` may be left empty when handed to the writer, which fills it."""

    kind: Annotated[str, OneOf(("native", "optimized"))]
    family: Identifier
    task: Identifier
    runtime_strategy: Identifier | None
    target: Target
    components: Annotated[tuple[Component, ...], Count(0, 256)]
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
        check(header)
        return header


def check(header: BundleHeader) -> None:
    """Relations between records, in the order that the C++ reader keeps."""
    _check_kind(header)
    names = [component.name for component in header.components]
    _check_unique(names, "components", "name")
    for i, component in enumerate(header.components):
        _check_contract(component.contract, f"components[{i}].contract")
    if header.text_generation is not None:
        _check_tokens(header.text_generation)
    _check_files(header.provenance.checkpoint.files)
    _check_section_names([section.name for section in header.sections])
    _check_references(header)


def _check_kind(header: BundleHeader) -> None:
    if header.kind == "native" and (header.runtime_strategy is None or not header.components):
        raise Fault(Rule.INCONSISTENT, "header: kind 'native' needs a runtime_strategy and at least one component")
    if header.kind == "optimized" and (header.runtime_strategy is not None or header.components):
        raise Fault(Rule.INCONSISTENT, "header: kind 'optimized' has neither runtime_strategy nor components")
    if (header.task == TEXT_GENERATION) != (header.text_generation is not None):
        raise Fault(
            Rule.INCONSISTENT,
            f"header: task is '{header.task}', but text_generation belongs to '{TEXT_GENERATION}' alone",
        )


def _check_unique(values: list[str] | list[int], where: str, what: str) -> None:
    seen = set()
    for value in values:
        if value in seen:
            raise Fault(Rule.INCONSISTENT, f"header: {where} has the {what} '{value}' twice")
        seen.add(value)


def _check_contract(contract: Contract, where: str) -> None:
    inputs, outputs = [t.name for t in contract.inputs], [t.name for t in contract.outputs]
    _check_unique(inputs, f"{where}.inputs", "name")
    _check_unique(outputs, f"{where}.outputs", "name")
    for i, pair in enumerate(contract.state):
        if pair.input not in inputs or pair.output not in outputs:
            raise Fault(
                Rule.INCONSISTENT,
                f"header: {where}.state[{i}] pairs '{pair.input}' with '{pair.output}', not both exist",
            )
    _check_unique([pair.input for pair in contract.state], f"{where}.state", "input")
    _check_unique([pair.output for pair in contract.state], f"{where}.state", "output")
    _check_unique([profile.name for profile in contract.profiles], f"{where}.profiles", "name")
    for i, profile in enumerate(contract.profiles):
        for name, (lowest, best, highest) in profile.dims.items():
            if not lowest <= best <= highest:
                raise Fault(
                    Rule.INCONSISTENT,
                    f"header: {where}.profiles[{i}].dims.{name} is [{lowest}, {best}, {highest}], "
                    "expected min, opt, max",
                )
    _check_dimensions(contract, where)


def _check_dimensions(contract: Contract, where: str) -> None:
    """Every named dimension of an input needs a range in every profile, and there must be one profile for it."""
    for tensor in contract.inputs:
        for dimension in tensor.shape:
            if isinstance(dimension, int):
                continue
            if not contract.profiles or any(dimension not in profile.dims for profile in contract.profiles):
                raise Fault(
                    Rule.INCONSISTENT,
                    f"header: {where}: dimension '{dimension}' of input '{tensor.name}' has no range in some profile",
                )


def _check_tokens(text: TextGeneration) -> None:
    named = [text.bos_token_id, text.pad_token_id, *text.eos_token_ids]
    for token in named:
        if token is not None and token >= text.vocab_size:
            raise Fault(
                Rule.INCONSISTENT, f"header: text_generation: token id {token} with a vocab_size of {text.vocab_size}"
            )
    _check_unique(list(text.eos_token_ids), "text_generation.eos_token_ids", "id")


def _check_files(files: tuple[CheckpointFile, ...]) -> None:
    names = [file.name.encode() for file in files]
    for i, (a, b) in enumerate(itertools.pairwise(names)):
        if a >= b:
            raise Fault(
                Rule.INCONSISTENT, f"header: provenance.checkpoint.files[{i + 1}]: names must be sorted and different"
            )


def check_section_name(name: str) -> None:
    """Slash-separated parts of letters, digits, `_`, `.`, `-`; none starts with a dot; 255 bytes in all."""
    problem = SECTION_NAME.problem(name) or (len(name) > 255 and "too long")
    if problem:
        raise Fault(
            Rule.SECTION_NAME,
            f"section name {name[:80]!r}: expected slash-separated parts of letters, digits, '_', '-' and '.', "
            "none starting with '.'",
        )


SECTION_NAME = Matches(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*", "a section name")


def _check_section_names(names: list[str]) -> None:
    for name in names:
        check_section_name(name)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise Fault(Rule.DUPLICATE_SECTION, f"header: two sections are named '{name}'")
        seen.add(name)
    for name in names:
        at = name.find("/")
        while at >= 0:
            if name[:at] in seen:
                raise Fault(Rule.SECTION_NAME, f"header: section '{name[:at]}' is also a folder, of '{name}'")
            at = name.find("/", at + 1)


def _check_references(header: BundleHeader) -> None:
    names = {section.name for section in header.sections}
    wanted = [(f"components[{i}].engine", c.engine) for i, c in enumerate(header.components)]
    roles = ("tokenizer", "tokenizer_config", "chat_template")
    wanted += [(f"assets.{role}", name) for role in roles if (name := getattr(header.assets, role)) is not None]
    if header.kind == "optimized":
        wanted.append(("kind 'optimized'", "optimized_runtime.json"))
    for where, name in wanted:
        if name not in names:
            raise Fault(Rule.MISSING_SECTION, f"header: {where} refers to section '{name[:80]}', which does not exist")
