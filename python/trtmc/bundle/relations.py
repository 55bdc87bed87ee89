"""What no single record of a bundle header can check: how records agree with each other.

The order of the checks is part of the format's error contract; cc/bundle/header_check.cc and weights_check.cc keep the
same one. Time is linear in the header's size (but for logarithms), since a header may be hostile. This module reads no
JSON and knows no offsets of the file.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from trtmc.bundle import stored_weights
from trtmc.bundle.rules import Fault, Rule
from trtmc.bundle.schema import Matches

if TYPE_CHECKING:
    from trtmc.bundle.header import BundleHeader, CheckpointFile, Component, Contract, TextGeneration

TEXT_GENERATION = "text_generation_causal"


def check(header: BundleHeader) -> None:
    """All relations, in the order that the C++ reader keeps."""
    _check_kind(header)
    targets = [target.name for target in header.targets]
    check_unique(targets, "targets", "name")
    check_unique([component.name for component in header.components], "components", "name")
    for i, component in enumerate(header.components):
        _check_component(component, targets, f"components[{i}]")
    stored_weights.check(header)
    if header.text_generation is not None:
        _check_tokens(header.text_generation)
    _check_files(header.provenance.checkpoint.files)
    _check_section_names([section.name for section in header.sections])
    _check_references(header)
    stored_weights.check_layout(header)


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


def check_unique(values: list[str] | list[int], where: str, what: str) -> None:
    """Refuses a value that stands twice."""
    seen = set()
    for value in values:
        if value in seen:
            raise Fault(Rule.INCONSISTENT, f"header: {where} has the {what} '{value}' twice")
        seen.add(value)


def _check_component(component: Component, targets: list[str], where: str) -> None:
    """One engine per target, in the order of the targets; every engine with a sound contract."""
    found = [engine.target for engine in component.engines]
    if found != targets:
        raise Fault(
            Rule.INCONSISTENT,
            f"header: {where} has engines for {', '.join(found)}, expected one for each of {', '.join(targets)}, "
            "in this order",
        )
    for i, engine in enumerate(component.engines):
        at = f"{where}.engines[{i}]"
        check_contract(engine.contract, f"{at}.contract")
        check_unique([binding.input for binding in engine.weights], f"{at}.weights", "input")
        taken = {tensor.name for tensor in engine.contract.inputs}
        for binding in engine.weights:
            if binding.input in taken:
                raise Fault(
                    Rule.INCONSISTENT,
                    f"header: {at}: '{binding.input}' is a weight and an input of the contract",
                )


def check_contract(contract: Contract, where: str) -> None:
    """Relations inside one contract."""
    inputs, outputs = [t.name for t in contract.inputs], [t.name for t in contract.outputs]
    check_unique(inputs, f"{where}.inputs", "name")
    check_unique(outputs, f"{where}.outputs", "name")
    known_inputs, known_outputs = set(inputs), set(outputs)
    for i, pair in enumerate(contract.state):
        if pair.input not in known_inputs or pair.output not in known_outputs:
            raise Fault(
                Rule.INCONSISTENT,
                f"header: {where}.state[{i}] pairs '{pair.input}' with '{pair.output}', not both exist",
            )
    check_unique([pair.input for pair in contract.state], f"{where}.state", "input")
    check_unique([pair.output for pair in contract.state], f"{where}.state", "output")
    check_unique([profile.name for profile in contract.profiles], f"{where}.profiles", "name")
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
    covered = set(contract.profiles[0].dims) if contract.profiles else set()
    for profile in contract.profiles[1:]:
        covered &= profile.dims.keys()
    for tensor in contract.inputs:
        for dimension in tensor.shape:
            if not isinstance(dimension, int) and dimension not in covered:
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
    check_unique(list(text.eos_token_ids), "text_generation.eos_token_ids", "id")


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
    wanted = [
        (f"components[{i}].engines[{j}].section", engine.section)
        for i, component in enumerate(header.components)
        for j, engine in enumerate(component.engines)
    ]
    if header.weights is not None:
        wanted.append(("weights.section", header.weights.section))
    roles = ("tokenizer", "tokenizer_config", "chat_template")
    wanted += [(f"assets.{role}", name) for role in roles if (name := getattr(header.assets, role)) is not None]
    if header.kind == "optimized":
        wanted.append(("kind 'optimized'", "optimized_runtime.json"))
    for where, name in wanted:
        if name not in names:
            raise Fault(Rule.MISSING_SECTION, f"header: {where} refers to section '{name[:80]}', which does not exist")
