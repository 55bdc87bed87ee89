"""Options of a compiler: typed, with a default, a meaning, and an error that says what would be right.

    OptionSpec("kernels", ("auto", "trtmc"), "which operations")      # a choice; the first is the default
    NumberOption("optimization_level", 3, 0, 5, "how long to search")
    TextOption("build_route", "knobs of TensorRT's own, as it takes them")
    FlagsOption("tactic_sources", ("a", "b"), "joined by +")

All travel as text (`--option name=value`); the text is what reports and bundles record.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OptionSpec:
    """A choice: the values it takes (the first is the default) and what it does."""

    name: str
    values: tuple[str, ...]
    meaning: str

    @property
    def default(self) -> str:
        """The value without being asked."""
        return self.values[0]

    @property
    def allowed(self) -> str:
        """What the option takes, for messages and pages."""
        return f"one of {', '.join(self.values)}"

    def accepts(self, value: str) -> bool:
        """Whether `value` is legal."""
        return value in self.values


@dataclass(frozen=True)
class NumberOption:
    """A whole number."""

    name: str
    initial: int
    minimum: int
    maximum: int
    meaning: str

    @property
    def default(self) -> str:
        return str(self.initial)

    @property
    def allowed(self) -> str:
        return f"a number from {self.minimum} to {self.maximum}"

    def accepts(self, value: str) -> bool:
        return value.isascii() and value.isdecimal() and self.minimum <= int(value) <= self.maximum


@dataclass(frozen=True)
class FlagsOption:
    """Some of a set of names, joined by `+`; `default` leaves the choice to the compiler, `none` is the empty set."""

    name: str
    names: tuple[str, ...]
    meaning: str

    @property
    def default(self) -> str:
        return "default"

    @property
    def allowed(self) -> str:
        return f"'default', 'none', or some of {', '.join(self.names)} joined by '+'"

    def accepts(self, value: str) -> bool:
        given = value.split("+")
        return value in ("default", "none") or (set(given) <= set(self.names) and len(set(given)) == len(given))


@dataclass(frozen=True)
class TextOption:
    """Free text, empty by default; the compiler judges it."""

    name: str
    meaning: str

    @property
    def default(self) -> str:
        return ""

    @property
    def allowed(self) -> str:
        return "text"

    def accepts(self, value: str) -> bool:
        return value.isprintable()


Option = OptionSpec | NumberOption | FlagsOption | TextOption
