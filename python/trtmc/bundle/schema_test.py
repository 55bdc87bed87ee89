"""Strict reading of records: each rule by itself, and the order in which rules are reported."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import pytest

from trtmc.bundle import schema
from trtmc.bundle.rules import Fault
from trtmc.bundle.schema import Between, Count, Matches, OneOf, Positive, Text


@dataclass(frozen=True)
class Inner:
    size: Annotated[int, Between(1, 9)]


@dataclass(frozen=True)
class Record:
    name: Annotated[str, Text(5)]
    ratio: Annotated[float, Positive(1.0)] | None
    kind: Annotated[str, OneOf(("a", "b"))]
    shape: Annotated[tuple[int | str, ...], Count(1, 2)]
    inner: Inner
    named: dict[Annotated[str, Matches("[a-z]+", "letters")], Inner]
    fine: bool


GOOD = {
    "name": "x",
    "ratio": 0.5,
    "kind": "a",
    "shape": [1, "n"],
    "inner": {"size": 3},
    "named": {"k": {"size": 1}},
    "fine": True,
}


def test_reads_and_writes() -> None:
    record = schema.read(Record, GOOD, "top level")
    assert record == Record("x", 0.5, "a", (1, "n"), Inner(3), {"k": Inner(1)}, True)
    assert schema.write(record) == GOOD


def test_writes_integers_as_floats_where_floats_belong() -> None:
    record = Record("x", 1, "a", (1,), Inner(3), {}, True)
    written = schema.write(record)
    assert isinstance(written, dict)
    assert type(written["ratio"]) is float


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"extra": 1}, "unknown_key", 'top level has the unknown key "extra"'),
        ({"name": None}, "wrong_type", "name is null, expected a string"),
        ({"name": ""}, "bad_value", 'name is "", expected 1 to 5 bytes'),
        ({"name": "äöü"}, "bad_value", "expected 1 to 5 bytes"),
        ({"name": "a\n"}, "bad_value", "without control characters"),
        ({"ratio": 1}, "wrong_type", "ratio is an integer, expected a number with a fraction"),
        ({"ratio": 0.0}, "bad_value", "ratio is 0.0, expected above 0"),
        ({"kind": "c"}, "bad_value", 'kind is "c", expected one of a, b'),
        ({"shape": []}, "bad_value", "shape has 0 items, expected 1 to 2"),
        ({"shape": [1.5]}, "wrong_type", "shape[0] is a number with a fraction, expected an integer or a string"),
        ({"shape": {}}, "wrong_type", "shape is an object, expected an array"),
        ({"inner": {}}, "missing_key", "inner lacks the key 'size'"),
        ({"inner": {"size": True}}, "wrong_type", "inner.size is true or false, expected an integer"),
        ({"inner": {"size": 10}}, "bad_value", "inner.size is 10, expected 1 to 9"),
        ({"named": {"K": {"size": 1}}}, "bad_value", 'key "K" of named is "K", expected letters'),
        ({"named": {"k": 1}}, "wrong_type", "named.k is an integer, expected an object"),
        ({"fine": 1}, "wrong_type", "fine is an integer, expected true or false"),
    ],
)
def test_refusals(change: dict[str, object], code: str, message: str) -> None:
    with pytest.raises(Fault) as caught:
        schema.read(Record, {**GOOD, **change}, "top level")
    assert caught.value.code == f"bundle.{code}"
    assert message in caught.value.message


def test_order_of_reports() -> None:
    bad = {**GOOD, "extra": 1, "name": 5}
    del bad["kind"]
    with pytest.raises(Fault, match="unknown key"):
        schema.read(Record, bad, "top level")
    del bad["extra"]
    with pytest.raises(Fault, match="lacks the key"):
        schema.read(Record, bad, "top level")
    bad |= {"kind": "zzz"}
    with pytest.raises(Fault, match="name is"):
        schema.read(Record, bad, "top level")
