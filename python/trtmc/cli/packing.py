"""Everything that goes into a bundle, put together from a family, a checkpoint, engines and contracts.

Knows the bundle's records and the builder's; decides section names. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from trtmc import bundle as fmt
from trtmc.bundle.canonical import encode
from trtmc.bundle.reports import report_section
from trtmc.cli.weights_section import weights_section
from trtmc.compilers import CompiledEngine
from trtmc.core.admission import AdmissionRecord
from trtmc.core.checkpoint import Checkpoint
from trtmc.core.contract import Contract, Limits
from trtmc.core.errors import BadInput, UsageError
from trtmc.core.family import Family
from trtmc.core.target import TargetInfo
from trtmc.core.text_assets import TextArtifacts
from trtmc.core.version import VERSION, source_digest

ENGINE_TYPE = "application/octet-stream"
JSON_TYPE = "application/json"
TEXT_TYPE = "text/plain"

_OPTION_FACTS = (
    "precision",
    "weights",
    "kernels",
    "compute",
)  # what a contract's report says about choices made at build time


@dataclass(frozen=True)
class PackedEngine:
    """The engine of a component for a target, as a file or still streaming from its compiler, and its contract.

    A streaming engine reads the network's constants; `keepalive` is what owns them.
    """

    engine: Path | CompiledEngine
    contract: Contract
    keepalive: object = None


@dataclass(frozen=True)
class TargetEngines:
    """All engines for one target, by component."""

    target: TargetInfo
    engines: Mapping[str, PackedEngine]


def pack_bundle(
    path: Path, family: Family, checkpoint: Checkpoint, parts: Sequence[TargetEngines], record: AdmissionRecord
) -> str:
    """Writes the bundle, opens it again (header, layout, padding), and returns its id. `verify` checks every byte.

    Targets stand in order of their names, whatever the order of `parts`.
    """
    parts = sorted(parts, key=lambda part: part.target.name)
    _check_parts(family, parts)
    contracts = [part.engines[name].contract for name in family.components for part in parts]
    config = family.config(checkpoint)
    text = family.artifacts(checkpoint, config, _limits(contracts))
    assets, text_sections = _assets(text)
    weights = weights_section(contracts, checkpoint.weights)
    header = fmt.BundleHeader(
        kind="native",
        family=family.manifest.name,
        task=family.manifest.task,
        runtime_strategy=family.manifest.runtime_strategy,
        targets=tuple(fmt.Target(**asdict(part.target)) for part in parts),
        components=tuple(_component(name, parts) for name in family.components),
        weights=weights.record if weights else None,
        text_generation=_text_generation(text),
        assets=assets,
        sections=(),
        provenance=_provenance(family, record),
    )
    sections = [
        fmt.SectionSource(_engine_section(name, part, parts), ENGINE_TYPE, part.engines[name].engine)
        for part in parts
        for name in family.components
    ]
    sections += [
        fmt.SectionSource(
            report_section(_place(name, part, parts)), JSON_TYPE, encode(dict(part.engines[name].contract.report))
        )
        for part in parts
        for name in family.components
    ]
    if weights:
        sections.append(fmt.SectionSource(weights.record.section, ENGINE_TYPE, weights))
    bundle_id = fmt.write_bundle(path, header, [*sections, *text_sections])
    with fmt.read_bundle(path, verify="lazy"):
        return bundle_id


def _check_parts(family: Family, parts: Sequence[TargetEngines]) -> None:
    for part in parts:
        if set(part.engines) != set(family.components):
            raise UsageError(
                "pack.components",
                f"family '{family.manifest.name}' has the components {list(family.components)}, engines for "
                f"{part.target.name} are given for {sorted(part.engines)}",
            )
    names = [part.target.name for part in parts]
    if len(set(names)) != len(names):
        raise UsageError("pack.targets", f"engines are given twice for one of the targets {', '.join(names)}")


def _limits(contracts: Sequence[Contract]) -> Limits:
    limits = {contract.limits for contract in contracts}
    if len(limits) != 1:
        raise BadInput("pack.limits", f"the engines were built with different limits: {sorted(str(x) for x in limits)}")
    return limits.pop()


def _component(name: str, parts: Sequence[TargetEngines]) -> fmt.Component:
    return fmt.Component(name, tuple(_engine(name, part, parts) for part in parts))


def _engine(name: str, part: TargetEngines, parts: Sequence[TargetEngines]) -> fmt.Engine:
    contract = part.engines[name].contract
    value = contract.to_json()
    facts = value.pop("report")
    weights = tuple(fmt.WeightBinding(w.input, w.dtype.value, w.shape, w.tensor, w.steps) for w in contract.weights)
    del value["weights"]
    return fmt.Engine(
        target=part.target.name,
        section=_engine_section(name, part, parts),
        contract=fmt.Contract.from_json(value, f"contract of {name} for {part.target.name}"),
        weights=weights,
        options={key: facts[key] for key in _OPTION_FACTS if key in facts} | facts.get("options", {}),
    )


def _engine_section(name: str, part: TargetEngines, parts: Sequence[TargetEngines]) -> str:
    return f"engines/{_place(name, part, parts)}.engine"


def _place(name: str, part: TargetEngines, parts: Sequence[TargetEngines]) -> str:
    """With one target `llm`, with several `sm_89/llm`."""
    return name if len(parts) == 1 else f"{part.target.name}/{name}"


def _text_generation(text: TextArtifacts) -> fmt.TextGeneration:
    return fmt.TextGeneration(
        vocab_size=text.vocab_size,
        max_sequence=text.max_sequence,
        bos_token_id=text.bos_token_id,
        eos_token_ids=text.eos_token_ids,
        pad_token_id=text.pad_token_id,
        sampling=fmt.SamplingDefaults(**asdict(text.sampling)),
    )


def _assets(text: TextArtifacts) -> tuple[fmt.Assets, list[fmt.SectionSource]]:
    sources = {
        "tokenizer": ("text/tokenizer.json", JSON_TYPE, text.tokenizer),
        "tokenizer_config": ("text/tokenizer_config.json", JSON_TYPE, text.tokenizer_config),
        "chat_template": ("text/chat_template.jinja", TEXT_TYPE, text.chat_template),
    }
    present = {role: source for role, source in sources.items() if source[2] is not None}
    names = {role: name for role, (name, _, _) in present.items()}
    return fmt.Assets(**names), [
        fmt.SectionSource(name, kind, data) for name, kind, data in present.values() if data is not None
    ]


def _provenance(family: Family, record: AdmissionRecord) -> fmt.Provenance:
    return fmt.Provenance(
        checkpoint=fmt.CheckpointInfo(
            record.version,
            record.source,
            record.revision,
            tuple(fmt.CheckpointFile(f.name, f.size, f.sha256) for f in record.files),
        ),
        builder=fmt.Builder(VERSION, source_digest(family.manifest.name)),
    )
