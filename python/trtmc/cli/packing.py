"""Everything that goes into a bundle, put together from a family, a checkpoint, engines and contracts.

Knows the bundle's records and the builder's; decides section names. Knows no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trtmc import bundle as fmt
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

_OPTION_FACTS = ("precision", "kernels", "compute")  # what a contract's report says about choices made at build time


@dataclass(frozen=True)
class PackedEngine:
    """A component's engine, as a file or still streaming from its compiler, and its contract.

    A streaming engine reads the network's constants; `keepalive` is what owns them.
    """

    engine: Path | CompiledEngine
    contract: Contract
    keepalive: object = None


def pack_bundle(
    path: Path,
    family: Family,
    checkpoint: Checkpoint,
    target: TargetInfo,
    engines: Mapping[str, PackedEngine],
    record: AdmissionRecord,
) -> str:
    """Writes the bundle, opens it again (header, layout, padding), and returns its id. `verify` checks every byte."""
    if set(engines) != set(family.components):
        raise UsageError(
            "pack.components",
            f"family '{family.manifest.name}' has the components {list(family.components)}, engines are given "
            f"for {sorted(engines)}",
        )
    config = family.config(checkpoint)
    text = family.artifacts(checkpoint, config, _limits(engines))
    assets, sections = _assets(text)
    header = fmt.BundleHeader(
        kind="native",
        family=family.manifest.name,
        task=family.manifest.task,
        runtime_strategy=family.manifest.runtime_strategy,
        target=fmt.Target(**asdict(target)),
        components=tuple(_component(name, engines[name].contract) for name in family.components),
        text_generation=_text_generation(text),
        assets=assets,
        sections=(),
        provenance=_provenance(family, record, target, engines),
    )
    engine_sections = [
        fmt.SectionSource(_engine_section(name), ENGINE_TYPE, engines[name].engine) for name in family.components
    ]
    bundle_id = fmt.write_bundle(path, header, [*engine_sections, *sections])
    with fmt.read_bundle(path, verify="lazy"):
        return bundle_id


def read_contract(path: Path) -> Contract:
    """A contract file that an engine action wrote."""
    from trtmc.core.config import read_json_object

    return Contract.from_json(read_json_object(path, "contract"), str(path))


def _limits(engines: Mapping[str, PackedEngine]) -> Limits:
    limits = {files.contract.limits for files in engines.values()}
    if len(limits) != 1:
        raise BadInput("pack.limits", f"the engines were built with different limits: {sorted(str(x) for x in limits)}")
    return limits.pop()


def _component(name: str, contract: Contract) -> fmt.Component:
    value = contract.to_json()
    del value["report"]
    return fmt.Component(name, _engine_section(name), fmt.Contract.from_json(value, f"contract of {name}"))


def _engine_section(name: str) -> str:
    return f"engines/{name}.engine"


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


def _provenance(
    family: Family, record: AdmissionRecord, target: TargetInfo, engines: Mapping[str, PackedEngine]
) -> fmt.Provenance:
    options: dict[str, Any] = {}
    for name, files in engines.items():
        facts = files.contract.report
        chosen = {key: facts[key] for key in _OPTION_FACTS if key in facts} | facts.get("options", {})
        options |= {f"{name}_{key}" if len(engines) > 1 else key: value for key, value in chosen.items()}
    return fmt.Provenance(
        checkpoint=fmt.CheckpointInfo(
            record.version,
            record.source,
            record.revision,
            tuple(fmt.CheckpointFile(f.name, f.size, f.sha256) for f in record.files),
        ),
        builder=fmt.Builder(VERSION, source_digest(family.manifest.name)),
        compiler=fmt.Compiler(target.compiler, target.compiler_version),
        options=options,
    )
