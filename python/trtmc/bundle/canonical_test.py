"""Canonical JSON: literal bytes in and out, one test per rule. The corpus has the files."""

from __future__ import annotations

import pytest

from trtmc.bundle.canonical import decode, encode
from trtmc.bundle.rules import Fault


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, b'{"a":[true,null],"b":1}'),
        ({"ä": "é", "z": "\U0001f600"}, '{"z":"\U0001f600","ä":"é"}'.encode()),
        ('"\\/\b\t\n\f\r\x01\x1f\x7f', b'"\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001f\x7f"'),
        ([0.0, -0.0, 1.0, 0.1, 1e-4, 9.999e-5, 1e-7], b"[0.0,-0.0,1.0,0.1,0.0001,9.999e-05,1e-07]"),
        ([1e15, 1e16, 1.5e300, 5e-324], b"[1000000000000000.0,1e+16,1.5e+300,5e-324]"),
        ([2**63 - 1, -(2**63), 0], b"[9223372036854775807,-9223372036854775808,0]"),
    ],
)
def test_spelling(value: object, text: bytes) -> None:
    assert encode(value) == text
    assert decode(text) == value


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (b"", "bundle.header_json"),
        (b"{", "bundle.header_json"),
        (b"\xef\xbb\xbf{}", "bundle.header_json"),
        (b'"\xff"', "bundle.header_json"),
        (b'"\\ud800"', "bundle.header_json"),
        (b"NaN", "bundle.header_json"),
        (b"1e400", "bundle.header_json"),
        (b"9223372036854775808", "bundle.header_json"),
        (b"9" * 10000, "bundle.header_json"),
        (b'{"a":1,"a":1}', "bundle.duplicate_key"),
        (b'{"a":1,"\\u0061":1}', "bundle.duplicate_key"),
        (b'{"b":1,"a":1}', "bundle.header_not_canonical"),
        (b"{} ", "bundle.header_not_canonical"),
        (b"1.50", "bundle.header_not_canonical"),
        (b"1E5", "bundle.header_not_canonical"),
        (b"-0", "bundle.header_not_canonical"),
        (b'"\\/"', "bundle.header_not_canonical"),
        (b"[" * 33 + b"]" * 33, "bundle.header_depth"),
        (b"[" * 1_000_000, "bundle.header_depth"),
    ],
)
def test_refusals(text: bytes, rule: str) -> None:
    with pytest.raises(Fault) as caught:
        decode(text)
    assert caught.value.code == rule


def test_brackets_in_strings_do_not_nest() -> None:
    value = {"a": "[" * 100 + '"\\' + "{" * 100}
    assert decode(encode(value)) == value


def test_messages_say_where_and_what() -> None:
    with pytest.raises(Fault, match=r'byte 2 on: expected "a.*found "b') as caught:
        decode(b'{"b":1,"a":1}')
    assert caught.value.exit_code == 3
    with pytest.raises(Fault, match='"size"'):
        decode(b'{"size":1,"size":2}')
