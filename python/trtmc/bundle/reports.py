"""Build reports of a bundle's engines, as `inspect --engine` shows them.

Each engine has a section `reports/<component>.json` (`reports/<target>/<component>.json` where a bundle holds engines
for several targets): an object of facts that the same build always gives again. Text and JSON are byte for byte those
of cc/bundle/reports.cc; a test compares them. This module knows no fact's meaning.
"""

from __future__ import annotations

import json

from trtmc.bundle.canonical import JsonValue, encode
from trtmc.bundle.reader import Bundle
from trtmc.core.errors import BadInput

_PREFIX, _SUFFIX = "reports/", ".json"


def report_section(name: str) -> str:
    """Name of the section that holds the report of `name`, such as "llm" or "sm_89/llm"."""
    return f"{_PREFIX}{name}{_SUFFIX}"


def reports(bundle: Bundle) -> dict[str, dict[str, JsonValue]]:
    """All reports by name, in the order of their sections."""
    found = {
        section.name[len(_PREFIX) : -len(_SUFFIX)]: _read(bundle, section.name)
        for section in bundle.header.sections
        if section.name.startswith(_PREFIX) and section.name.endswith(_SUFFIX)
    }
    if not found:
        raise BadInput("report.missing", f"{bundle.path}: the bundle has no build reports; build it again")
    return found


def reports_json(bundle: Bundle) -> str:
    """One line of canonical JSON."""
    return encode({"reports": dict(reports(bundle))}).decode()


def reports_text(bundle: Bundle) -> str:
    """For people: a heading for each engine and a line for each fact; ends with a newline."""
    lines = []
    for name, facts in reports(bundle).items():
        lines.append(name)
        lines += [f"  {_plain(key)} {_value(value)}" for key, value in sorted(facts.items())]
    return "\n".join(lines) + "\n"


def _value(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{_plain(key)} {_plain(item)}" for key, item in sorted(value.items())) or "none"
    return _plain(value)


def _plain(value: JsonValue) -> str:
    """Strings without quotes, but with JSON's escapes: what is shown must not steer a terminal."""
    text = encode(value).decode()
    return text[1:-1] if isinstance(value, str) and value else text


def _read(bundle: Bundle, section: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(bytes(bundle.section(section)))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise BadInput("report.schema", f"{bundle.path}: section '{section}' is not a JSON object; build it again")
    return value
