"""Every way of reading a key, and the refusal of what nobody read."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtmc.core.config import StrictConfig, read_json_object
from trtmc.core.errors import BadInput, TrtmcError, Unsupported


def config(**values: object) -> StrictConfig:
    return StrictConfig(values, "config.json")


def test_leftover_keys_are_refused_by_name() -> None:
    reader = config(a=1, b={"c": 2, "d": 3}, window="x" * 100, note=None)
    reader.integer("a")
    reader.ignore({"note": "a remark", "absent": "never mind"})
    child = reader.child("b")
    assert child is not None
    child.integer("c")
    with pytest.raises(Unsupported) as caught:
        reader.finish()
    assert caught.value.code == "config.unknown_key"
    assert caught.value.message.startswith("config.json: unknown key 'b.d' (3)")
    child.integer("d")
    with pytest.raises(Unsupported, match=r"'window' \(\"xxxxx.*\.\.\.\)"):
        reader.finish()
    reader.string("window")
    reader.finish()
    assert reader.read["note"] == "a remark"


@pytest.mark.parametrize(
    ("read", "value", "sentence"),
    [
        ("integer", "8", "'k' must be a whole number, found '8'"),
        ("integer", 8.0, "'k' must be a whole number, found 8.0"),
        ("integer", True, "'k' must be a whole number, found True"),
        ("integer", -1, "'k' must be between 0 and 2147483647, found -1"),
        ("integer", 2**40, "'k' must be between 0 and 2147483647"),
        ("number", "1", "'k' must be a finite number, found '1'"),
        ("number", True, "'k' must be a finite number, found True"),
        ("boolean", 0, "'k' must be true or false, found 0"),
        ("string", 0, "'k' must be a string, found 0"),
        ("items", {}, "'k' must be a list, found {}"),
        ("child", [], "'k' must be an object, found []"),
        ("even", 7, "'k' must be even, found 7"),
    ],
)
def test_wrong_values(read: str, value: object, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        getattr(config(k=value), read)("k")
    assert caught.value.code == "config.value"
    assert caught.value.message.startswith(f"config.json: {sentence}")


@pytest.mark.parametrize("read", ["integer", "number", "boolean", "string", "items", "even"])
def test_required_keys(read: str) -> None:
    with pytest.raises(BadInput, match="'k' is missing; it is required"):
        getattr(config(), read)("k")
    with pytest.raises(BadInput, match="'k' is null; it is required"):
        getattr(config(k=None), read)("k")


@pytest.mark.parametrize("read", ["integer", "number", "boolean", "string", "items"])
def test_null_is_absent_where_there_is_a_default(read: str) -> None:
    assert getattr(config(k=None), read)("k", default=None) is None
    assert config(k=None).child("k") is None


def test_number_bounds() -> None:
    assert config(k=2).number("k", above=1) == 2.0
    with pytest.raises(BadInput, match="'k' must be greater than 0, found 0"):
        config(k=0).number("k", above=0)


def test_derived_default_is_checked_too() -> None:
    with pytest.raises(BadInput, match=r"'k' must be even, found 5 \(derived\)"):
        config().even("k", default=5)


def test_choice_and_expect() -> None:
    with pytest.raises(Unsupported, match="'act' is 'selu'; implemented are gelu, relu"):
        config(act="selu").choice("act", ["relu", "gelu"])
    reader = config(tp=2)
    with pytest.raises(Unsupported, match="'tp' is 2; only 1 is implemented"):
        reader.expect({"tp": 1})
    config(tp=None, factor=1).expect({"tp": 1, "factor": 1.0})
    with pytest.raises(Unsupported, match="'flag' is 0; only false"):
        config(flag=0).expect({"flag": False})


@pytest.mark.parametrize(
    ("content", "code", "piece"),
    [
        (b"", "config.json", "not valid JSON"),
        (b"[1]", "config.json", "expected a JSON object, found list"),
        (b'{"a":NaN}', "config.json", "NaN is not JSON"),
        (b'{"a":1,"a":2}', "config.duplicate_key", "the key 'a' stands twice"),
        (b'{"x":{"a":1,"a":1}}', "config.duplicate_key", "'a'"),
        (b'{"a":"\xff"}', "config.json", "utf-8"),
        (b"[" * 100000, "config.json", "recursion"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, code: str, piece: str) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(TrtmcError) as caught:
        read_json_object(path)
    assert caught.value.code == code
    assert piece in caught.value.message and str(path) in caught.value.message


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_json_object(tmp_path / "config.json")
