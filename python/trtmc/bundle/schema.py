"""Strict reading of JSON values into typed dataclasses, driven by their annotations.

Every field of a dataclass is a required key; any other key is refused; JSON types must match exactly (no number for a
string, no integer for a float, no `true` for 1). `Annotated` adds limits. The order of the checks is fixed so that
the C++ reader reports the same rule: per object first unknown keys, then missing keys, then the fields as declared.

This module does not know which records exist; see header.

    @dataclass(frozen=True)
    class Range: lo: Annotated[int, Between(0, 9)]; name: str | None
    read(Range, {"lo": 3, "name": None}, "range")
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from trtmc.bundle.canonical import JsonValue
from trtmc.bundle.rules import Fault, Rule

T = TypeVar("T")


@dataclass(frozen=True)
class Between:
    """Inclusive limits of a number."""

    lowest: float
    highest: float = 2**63 - 1

    def problem(self, value: float) -> str | None:
        """Why `value` is refused, or None."""
        if self.lowest <= value <= self.highest:
            return None
        return f"is {value}, expected {self.lowest} to {self.highest}"


@dataclass(frozen=True)
class Positive:
    """A float above zero, up to `highest`."""

    highest: float = math.inf

    def problem(self, value: float) -> str | None:
        """Why `value` is refused, or None."""
        return None if 0 < value <= self.highest else f"is {value}, expected above 0 and at most {self.highest}"


@dataclass(frozen=True)
class OneOf:
    """A closed set of strings."""

    values: tuple[str, ...]

    def problem(self, value: str) -> str | None:
        """Why `value` is refused, or None."""
        return None if value in self.values else f"is {json.dumps(value)}, expected one of {', '.join(self.values)}"


@dataclass(frozen=True)
class Matches:
    """A string that a pattern matches wholly; `what` says it in words."""

    pattern: str
    what: str

    def problem(self, value: str) -> str | None:
        """Why `value` is refused, or None."""
        return None if re.fullmatch(self.pattern, value) else f"is {json.dumps(value)[:80]}, expected {self.what}"


@dataclass(frozen=True)
class Text:
    """One to `most` bytes of UTF-8 without control characters."""

    most: int = 255

    def problem(self, value: str) -> str | None:
        """Why `value` is refused, or None."""
        if 1 <= len(value.encode()) <= self.most and not re.search(r"[\x00-\x1f\x7f-\x9f]", value):
            return None
        return f"is {json.dumps(value)[:80]}, expected 1 to {self.most} bytes without control characters"


@dataclass(frozen=True)
class Count:
    """Limits on the number of items of a list."""

    lowest: int
    highest: int

    def problem(self, value: list[object]) -> str | None:
        """Why `value` is refused, or None."""
        if self.lowest <= len(value) <= self.highest:
            return None
        return f"has {len(value)} items, expected {self.lowest} to {self.highest}"


def read(kind: type[T], value: JsonValue, where: str) -> T:
    """`value` as an instance of the dataclass `kind`; `where` names it in messages."""
    return _read(kind, value, where)


def write(value: object) -> JsonValue:
    """The JSON value that `read` turns back into the dataclass `value`."""
    return _write(type(value), value)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _read(hint: Any, value: Any, where: str) -> Any:
    if get_origin(hint) is Annotated:
        inner, *limits = get_args(hint)
        result = _read(inner, value, where)
        for limit in limits:
            problem = limit.problem(value)
            if problem is not None:
                raise Fault(Rule.BAD_VALUE, f"header: {where} {problem}")
        return result
    if get_origin(hint) in (Union, types.UnionType):
        return _read_union(hint, value, where)
    if get_origin(hint) is tuple:
        _expect(isinstance(value, list), value, "an array", where)
        return tuple(_read(get_args(hint)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if get_origin(hint) is dict:
        _expect(isinstance(value, dict), value, "an object", where)
        key_hint, item_hint = get_args(hint)
        result = {}
        for key, item in sorted(value.items()):
            read_key = _read(key_hint, key, f"key {json.dumps(key)[:80]} of {where}")
            result[read_key] = _read(item_hint, item, f"{where}.{key}")
        return result
    if dataclasses.is_dataclass(hint):
        return _read_record(hint, value, where)
    _expect(type(value) is hint, value, _NAMES[hint], where)
    return value


def _read_union(hint: Any, value: Any, where: str) -> Any:
    """Alternatives are told apart by JSON type alone: `X | None`, or scalars of different types."""
    options = [option for option in get_args(hint) if option is not type(None)]
    if value is None and type(None) in get_args(hint):
        return None
    for option in options:
        if len(options) == 1 or type(value) is _scalar(option):
            return _read(option, value, where)
    names = [_NAMES[_scalar(option)] for option in options]
    _expect(False, value, " or ".join(names), where)


def _scalar(hint: Any) -> type:
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _read_record(kind: Any, value: Any, where: str) -> Any:
    _expect(isinstance(value, dict), value, "an object", where)
    hints = _hints(kind)
    unknown = sorted(set(value) - set(hints))
    if unknown:
        raise Fault(
            Rule.UNKNOWN_KEY,
            f"header: {where} has the unknown key {json.dumps(unknown[0])[:80]}; a newer trtmc may know it",
        )
    missing = sorted(set(hints) - set(value))
    if missing:
        raise Fault(Rule.MISSING_KEY, f"header: {where} lacks the key '{missing[0]}'")
    prefix = "" if where == "top level" else f"{where}."
    return kind(**{key: _read(hint, value[key], f"{prefix}{key}") for key, hint in hints.items()})


def _write(hint: Any, value: Any) -> JsonValue:
    if get_origin(hint) is Annotated:
        return _write(get_args(hint)[0], value)
    if dataclasses.is_dataclass(hint):
        return {key: _write(inner, getattr(value, key)) for key, inner in _hints(hint).items()}
    if get_origin(hint) is tuple:
        return [_write(get_args(hint)[0], item) for item in value]
    if get_origin(hint) is dict:
        return {key: _write(get_args(hint)[1], item) for key, item in value.items()}
    if get_origin(hint) in (Union, types.UnionType) and value is not None:
        options = [option for option in get_args(hint) if option is not type(None)]
        return _write(options[0], value) if len(options) == 1 else value
    return float(value) if hint is float and type(value) is int else value


_NAMES: dict[object, str] = {
    str: "a string",
    int: "an integer",
    float: "a number with a fraction",
    bool: "true or false",
}
_FOUND: dict[type, str] = {
    **{k: v for k, v in _NAMES.items() if isinstance(k, type)},
    dict: "an object",
    list: "an array",
}


def _expect(fine: bool, value: JsonValue, expected: str, where: str) -> None:
    if not fine:
        found = "null" if value is None else _FOUND[type(value)]
        raise Fault(Rule.WRONG_TYPE, f"header: {where} is {found}, expected {expected}")
