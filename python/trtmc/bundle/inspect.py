"""What `inspect` and `verify` show of a bundle, as one line of JSON or as text for people.

The JSON and the text are byte for byte those of cc/bundle/describe.cc; a test compares them.

This module reads an open bundle and knows no command line.
"""

from __future__ import annotations

from trtmc.bundle.canonical import JsonValue, encode
from trtmc.bundle.header import BundleHeader, Engine, Section, Target, TensorSpec
from trtmc.bundle.layout import VERSION
from trtmc.bundle.reader import Bundle


def describe(bundle: Bundle) -> dict[str, JsonValue]:
    """Everything the header says, with the facts around it."""
    return {
        "file_length": bundle.file_length,
        "header": bundle.header.to_json(),
        "header_length": bundle.header_length,
        "id": bundle.id,
        "version": VERSION,
    }


def describe_json(bundle: Bundle) -> str:
    """`describe` as one line of canonical JSON."""
    return encode(describe(bundle)).decode()


def describe_text(bundle: Bundle) -> str:
    """For people; ends with a newline."""
    header = bundle.header
    lines = [
        f"bundle {bundle.id}",
        f"  version {VERSION}, {bundle.file_length} bytes, header {bundle.header_length} bytes",
        f"  kind {header.kind}, family {header.family}, task {header.task}",
    ]
    if header.runtime_strategy is not None:
        lines.append(f"  strategy {header.runtime_strategy}")
    lines += [_target(target) for target in header.targets]
    lines += _sections(header.sections)
    if header.components:
        lines.append("components")
    for component in header.components:
        for engine in component.engines:
            lines += _engine(component.name, engine)
    lines += _weights(header)
    lines += _text_generation(bundle)
    lines += _provenance(bundle)
    return "\n".join(lines) + "\n"


def _json(value: JsonValue) -> str:
    return encode(value).decode()


def _sections(sections: tuple[Section, ...]) -> list[str]:
    width = max(len(section.name) for section in sections)
    return ["sections"] + [
        f"  {s.name:<{width}}  {s.length:>12} bytes  sha256 {s.sha256[:16]}  {s.media_type}" for s in sections
    ]


def _shape(tensor: TensorSpec) -> str:
    return f"{tensor.name} {tensor.dtype} [{', '.join(str(dim) for dim in tensor.shape)}]"


def _target(target: Target) -> str:
    return (
        f"  target {target.name}: {target.compiler} {target.compiler_version}, cuda {_json(target.cuda_version)}, "
        f"compute {_json(target.compute_capability)}, {target.os} {target.arch}"
    )


def _engine(component: str, engine: Engine) -> list[str]:
    contract = engine.contract
    state = {name for pair in contract.state for name in (pair.input, pair.output)}
    lines = [
        f"  {component} for {engine.target}: engine {engine.section}, max_batch {contract.limits.max_batch}, "
        f"max_sequence {contract.limits.max_sequence}",
        f"    options {_json(dict(engine.options))}",
    ]
    for role, tensors in (("input", contract.inputs), ("output", contract.outputs)):
        lines += [f"    {role} {_shape(tensor)}" for tensor in tensors if tensor.name not in state]
    if contract.state:
        first = next(tensor for tensor in contract.inputs if tensor.name == contract.state[0].input)
        lines.append(f"    state {len(contract.state)} tensors, the first {_shape(first)}")
    for profile in contract.profiles:
        ranges = "".join(f" {name} {'/'.join(map(str, dims))}" for name, dims in sorted(profile.dims.items()))
        lines.append(f"    profile {profile.name}:{ranges}")
    if engine.weights:
        cast = sum("cast" in binding.steps for binding in engine.weights)
        lines.append(f"    weights {len(engine.weights)} from outside, {cast} of them cast")
    return lines


def _weights(header: BundleHeader) -> list[str]:
    if header.weights is None:
        return []
    stored = header.weights
    length = next(section.length for section in header.sections if section.name == stored.section)
    dtypes = sorted({tensor.dtype for tensor in stored.tensors})
    return ["weights", f"  {stored.section}: {len(stored.tensors)} tensors, {', '.join(dtypes)}, {length} bytes"]


def _text_generation(bundle: Bundle) -> list[str]:
    stored = bundle.header.to_json()
    facts = stored["text_generation"] if isinstance(stored, dict) else None
    if not isinstance(facts, dict) or not isinstance(facts["sampling"], dict):
        return []
    keys = ("vocab_size", "max_sequence", "bos_token_id", "eos_token_ids", "pad_token_id")
    return [
        "text generation",
        "  " + " ".join(f"{key} {_json(facts[key])}" for key in keys),
        "  sampling" + "".join(f" {key} {_json(value)}" for key, value in sorted(facts["sampling"].items())),
    ]


def _provenance(bundle: Bundle) -> list[str]:
    provenance = bundle.header.provenance
    checkpoint = provenance.checkpoint
    return [
        "provenance",
        f"  checkpoint {checkpoint.source}, revision {checkpoint.revision}",
        *(f"    {file.name}, {file.size} bytes, sha256 {file.sha256[:16]}" for file in checkpoint.files),
        f"  builder {provenance.builder.version}, sources sha256 {provenance.builder.source_sha256[:16]}",
    ]
