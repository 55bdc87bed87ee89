"""Strict configuration reader: every key is read, expected or ignored for a stated reason, or the build stops.

A family asks for the keys it implements; `finish` refuses, by name, whatever is left. So a config never asks for
something that is silently not done. Knows JSON objects and their file name, no model.

    config = StrictConfig({"hidden_size": 48, "use_cache": True}, "config.json")
    hidden = config.integer("hidden_size", minimum=1)
    config.ignore({"use_cache": "the runtime always keeps a cache"})
    config.finish()
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from trtmc.core.errors import BadInput, Unsupported

_MISSING = object()


def read_json_object(path: Path, code: str = "config") -> dict[str, Any]:
    """The JSON object in a file; duplicate keys and NaN are errors."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result:
                raise BadInput(f"{code}.duplicate_key", f"{path}: the key '{key}' stands twice; remove one")
            result[key] = value
        return result

    def constant(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        value = json.loads(path.read_bytes().decode("utf-8"), object_pairs_hook=unique, parse_constant=constant)
    except FileNotFoundError:
        raise BadInput(f"{code}.missing", f"{path}: no such file; the checkpoint looks incomplete") from None
    except OSError as error:
        raise BadInput(f"{code}.unreadable", f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{code}.json", f"{path}: not valid JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadInput(f"{code}.json", f"{path}: expected a JSON object, found {type(value).__name__}")
    return value


class StrictConfig:
    """One JSON object being read; `read` lists what was asked for, in order."""

    def __init__(self, values: Mapping[str, Any], file: str, prefix: str = "") -> None:
        self.file = file
        self._values = dict(values)
        self._prefix = prefix
        self._children: list[StrictConfig] = []
        self.read: dict[str, str] = {}  # key -> "read" or the reason for ignoring it

    def name(self, key: str) -> str:
        """The key as shown to users, with its parents."""
        return self._prefix + key

    def has(self, key: str) -> bool:
        """True if the key is present and not null; doesn't count as reading it."""
        return self._values.get(key) is not None

    def has_key(self, key: str) -> bool:
        """True if the key is present, even as null; doesn't count as reading it."""
        return key in self._values

    def integer(self, key: str, *, default: Any = _MISSING, minimum: int = 0, maximum: int = 2**31 - 1) -> Any:
        """A whole number; null counts as absent."""
        value = self._get(key, default)
        if value is default:
            return value
        if type(value) is not int:
            raise self.bad(key, f"must be a whole number, found {value!r}")
        if not minimum <= value <= maximum:
            raise self.bad(key, f"must be between {minimum} and {maximum}, found {value}")
        return value

    def even(self, key: str, *, default: Any = _MISSING) -> int:
        """An even whole number from 2 on; a default is checked too, since it often is computed from other keys."""
        value = self.integer(key, default=default, minimum=2, maximum=1 << 16)
        if value < 2 or value % 2:
            origin = "" if self.has(key) else " (derived)"
            raise self.bad(key, f"must be even, found {value}{origin}")
        return value

    def number(self, key: str, *, default: Any = _MISSING, above: float = -math.inf) -> Any:
        """A finite number greater than `above`."""
        value = self._get(key, default)
        if value is default:
            return value
        if type(value) not in (int, float) or not math.isfinite(value):
            raise self.bad(key, f"must be a finite number, found {value!r}")
        if not value > above:
            raise self.bad(key, f"must be greater than {above:g}, found {value}")
        return float(value)

    def boolean(self, key: str, *, default: Any = _MISSING) -> Any:
        """true or false."""
        value = self._get(key, default)
        if value is not default and not isinstance(value, bool):
            raise self.bad(key, f"must be true or false, found {value!r}")
        return value

    def string(self, key: str, *, default: Any = _MISSING) -> Any:
        """A string."""
        value = self._get(key, default)
        if value is not default and not isinstance(value, str):
            raise self.bad(key, f"must be a string, found {value!r}")
        return value

    def choice(self, key: str, implemented: Collection[str], *, default: Any = _MISSING) -> Any:
        """A string that must be one of those implemented."""
        value = self.string(key, default=default)
        if value is not default and value not in implemented:
            raise self.unsupported(key, f"is {value!r}; implemented are {', '.join(sorted(implemented))}")
        return value

    def any(self, key: str) -> Any:
        """The value as it is; None if absent or null."""
        return self._get(key, None)

    def items(self, key: str, *, default: Any = _MISSING) -> Any:
        """A list, unchecked inside."""
        value = self._get(key, default)
        if value is not default and not isinstance(value, list):
            raise self.bad(key, f"must be a list, found {value!r}")
        return value

    def child(self, key: str) -> StrictConfig | None:
        """A nested object, read as strictly; None if absent or null."""
        value = self._get(key, None)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.bad(key, f"must be an object, found {value!r}")
        child = StrictConfig(value, self.file, f"{self.name(key)}.")
        self._children.append(child)
        return child

    def expect(self, expected: Mapping[str, Any]) -> None:
        """Keys that may be present, but only with the one value that is implemented (or null)."""
        for key, value in expected.items():
            found = self._get(key, None)
            if found is not None and (found != value or isinstance(found, bool) != isinstance(value, bool)):
                raise self.unsupported(key, f"is {found!r}; only {json.dumps(value)} is implemented")

    def ignore(self, reasons: Mapping[str, str]) -> None:
        """Keys that change nothing in what we build, each with the reason."""
        for key, reason in reasons.items():
            if key in self._values:
                self.read[key] = reason

    def finish(self) -> None:
        """Refuses every key that nobody read."""
        for child in self._children:
            child.finish()
        left = [self.name(key) for key in self._values if key not in self.read]
        if left:
            values = ", ".join(f"'{key}' ({_short(self._values[key[len(self._prefix) :]])})" for key in left)
            raise Unsupported(
                "config.unknown_key",
                f"{self.file}: unknown {'key' if len(left) == 1 else 'keys'} {values}; remove what is "
                "meaningless, else this model is not implemented",
            )

    def bad(self, key: str, message: str) -> BadInput:
        """An error about the value of a key."""
        return BadInput("config.value", f"{self.file}: '{self.name(key)}' {message}")

    def unsupported(self, key: str, message: str) -> Unsupported:
        """An error about a value that is legal but not implemented."""
        return Unsupported("config.unsupported", f"{self.file}: '{self.name(key)}' {message}")

    def _get(self, key: str, default: Any) -> Any:
        if key in self._values:
            self.read[key] = "read"
        value = self._values.get(key)
        if value is not None:
            return value
        if default is _MISSING:
            found = "is null" if key in self._values else "is missing"
            raise BadInput("config.missing_key", f"{self.file}: '{self.name(key)}' {found}; it is required")
        return default


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
