"""Codes and classes are a public contract: pin them."""

import pytest

from trtmc.core import errors


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        (errors.InternalError, 1),
        (errors.UsageError, 2),
        (errors.BadInput, 3),
        (errors.Unsupported, 4),
        (errors.TargetMismatch, 5),
        (errors.MissingComponent, 6),
        (errors.ResourceError, 7),
    ],
)
def test_exit_codes(kind: type[errors.TrtmcError], exit_code: int) -> None:
    error = kind("area.rule", "a sentence")
    assert int(error.exit_code) == exit_code
    assert error.to_json() == {"error": {"code": "area.rule", "message": "a sentence"}}
    assert str(error) == "a sentence"


@pytest.mark.parametrize("code", ["norule", "Area.rule", "area.", "area rule", ""])
def test_malformed_slug_is_refused(code: str) -> None:
    with pytest.raises(ValueError, match=r"area\.rule"):
        errors.BadInput(code, "x")
