"""Canonical JSON: the one spelling of a JSON value that a bundle header may have.

UTF-8 without BOM; no white space outside strings; object keys in code point order; strings escape only `"`, `\\` and
the characters below U+0020 (short forms \\b \\t \\n \\f \\r, else \\u00xx in lower case); integers in plain decimal
within 64 signed bits; other numbers finite, with the fewest digits that read back as the same double, plain from 1e-4
up to below 1e16 and with a signed exponent of at least two digits otherwise, always with a `.` or an `e`.

`decode` accepts that spelling only, and says which rule another one breaks. The order of its checks is fixed (depth,
syntax, duplicate keys, spelling), so that the C++ reader judges alike.

This module knows nothing about the header's meaning.

    >>> encode({"b": 1.0, "a": ["é", None]})
    b'{"a":["\\xc3\\xa9",null],"b":1.0}'
"""

from __future__ import annotations

import json
import math
import re

from trtmc.bundle.rules import Fault, Rule

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

#: Deepest nesting of arrays and objects; the schema needs eight.
MAX_DEPTH = 32
_STRING_OR_BRACKET = re.compile(rb'"(?:[^"\\]+|\\.|\\\Z)*(?:"|\Z)|[\[\]{}]', re.DOTALL)
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


def encode(value: JsonValue) -> bytes:
    """The canonical bytes of `value`."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")


def decode(data: bytes) -> JsonValue:
    """The value whose canonical bytes are `data`; anything else raises a Fault."""
    _check_depth(data)
    duplicates: list[str] = []
    value = _parse(data, duplicates)
    try:
        canonical = encode(value)
    except UnicodeEncodeError:
        raise Fault(Rule.HEADER_JSON, "the header holds half of a surrogate pair") from None
    if duplicates:
        raise Fault(Rule.DUPLICATE_KEY, f"the header has the key {json.dumps(duplicates[0])} twice in one object")
    if canonical != data:
        at = next((i for i, (a, b) in enumerate(zip(canonical, data, strict=False)) if a != b), len(canonical))
        raise Fault(
            Rule.HEADER_NOT_CANONICAL,
            f"the header is not in canonical form from its byte {at} on: expected {_near(canonical, at)}, "
            f"found {_near(data, at)}",
        )
    return value


def _near(data: bytes, at: int) -> str:
    return json.dumps(data[at : at + 24].decode("utf-8", "replace")) if at < len(data) else "its end"


def _check_depth(data: bytes) -> None:
    """Nesting is bounded before any recursive code sees the text."""
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(data):
        first = data[match.start()]
        if first in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Fault(Rule.HEADER_DEPTH, f"the header nests deeper than {MAX_DEPTH} at its byte {match.start()}")
        elif first in b"]}":
            depth -= 1


def _parse(data: bytes, duplicates: list[str]) -> JsonValue:
    def pairs(items: list[tuple[str, JsonValue]]) -> JsonValue:
        result: dict[str, JsonValue] = {}
        for key, item in items:
            if key in result:
                duplicates.append(key)
            result[key] = item
        return result

    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=pairs,
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_no_constant,
        )
    except UnicodeDecodeError as error:
        raise Fault(Rule.HEADER_JSON, f"the header is not UTF-8 at its byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise Fault(Rule.HEADER_JSON, f"the header is no JSON at its character {error.pos}: {error.msg}") from None


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else _INT64_MAX + 1
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise Fault(Rule.HEADER_JSON, f"the header holds {digits[:24]}, which does not fit in 64 signed bits")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise Fault(Rule.HEADER_JSON, f"the header holds {digits[:24]}, which is too large for a double")
    return value


def _no_constant(name: str) -> float:
    raise Fault(Rule.HEADER_JSON, f"the header holds {name}, which is no JSON")
