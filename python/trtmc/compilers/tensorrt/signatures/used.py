"""What our builder code asks of TensorRT's Python API, read from its source: names below `trt`, attributes, calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Use:
    """One place: `path` is ("BuilderFlag", "TF32") for `trt.BuilderFlag.TF32`, ("", "add_gather") for `x.add_gather`.

    A call has its number of positional arguments and the names of the others; `calls` is False elsewhere.
    """

    where: str
    path: tuple[str, ...]
    calls: bool = False
    positional: int = 0
    keywords: tuple[str, ...] = ()
    stars: bool = False
    receiver: str = ""


def uses(files: Iterable[Path]) -> Iterator[Use]:
    """Every use in some source files."""
    for file in files:
        tree = ast.parse(file.read_text("utf-8"))
        calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Attribute):
                continue
            chain = _chain(node)
            if chain is not None and id(node) in inner:
                continue  # a longer chain holds it
            path = chain if chain is not None else ("", node.attr)
            yield _use(f"{file.name}:{node.lineno}", path, calls.get(id(node)), ast.unparse(node.value))


def _use(where: str, path: tuple[str, ...], call: ast.Call | None, receiver: str) -> Use:
    if call is None:
        return Use(where, path, receiver=receiver)
    stars = any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        k.arg is None for k in call.keywords
    )
    keywords = tuple(k.arg for k in call.keywords if k.arg is not None)
    return Use(where, path, True, len(call.args), keywords, stars, receiver)


def _chain(node: ast.Attribute) -> tuple[str, ...] | None:
    """("BuilderFlag", "TF32") for `trt.BuilderFlag.TF32`, None if the chain does not start at `trt`."""
    names: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        names.insert(0, value.attr)
        value = value.value
    return tuple(names) if isinstance(value, ast.Name) and value.id == "trt" else None
