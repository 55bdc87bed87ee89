"""docs/bundle-format.md says what the code does: the example, the codes (in C++ too), the limits, the keys."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from tests.bundle_corpus import sample
from trtmc.bundle import SectionSource, read_bundle, write_bundle
from trtmc.bundle.header import DTYPES, BundleHeader
from trtmc.bundle.layout import ALIGNMENT, MAX_HEADER_LENGTH
from trtmc.bundle.rules import Rule

ROOT = Path(__file__).absolute().parents[2]
PAGE = (ROOT / "docs" / "bundle-format.md").read_text(encoding="utf-8")
WRITER_ONLY = {Rule.SOURCE_CHANGED, Rule.WRITE_FAILED}


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)\n```", PAGE, re.DOTALL)


def test_the_example_is_what_the_writer_writes(tmp_path: Path) -> None:
    path = tmp_path / "example.bundle"
    (text,) = _blocks("json")
    header = BundleHeader.decode(text.encode())
    sources = [SectionSource("engines/llm.engine", "application/octet-stream", b"engine\n")]
    assert write_bundle(path, dataclasses.replace(header, sections=()), sources) == sample.digest(text.encode())
    data = path.read_bytes()
    assert data == sample.example()
    assert data[64 : 64 + len(text.encode())] == text.encode()
    lines = "\n".join(_blocks("hex")).splitlines()
    assert len(lines) == 6
    for line in lines:
        offset, *values = line.split()
        at = int(offset, 16)
        assert data[at : at + 16] == bytes.fromhex("".join(values)), line
    with read_bundle(path, verify="full") as bundle:
        assert bytes(bundle.section("engines/llm.engine")) == b"engine\n"


def test_figures_in_the_text_of_the_example() -> None:
    data = sample.example()
    header_length = int.from_bytes(data[16:24], "little")
    assert f"`header_length` is {header_length:#x} = {header_length};" in PAGE
    assert f"`file_length` is {len(data):#x} = {len(data)}." in PAGE
    assert f"It ends at {64 + header_length:#x};" in PAGE


def test_the_table_of_codes_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| `(bundle\.\w+)` \| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert rows == [(rule.slug, str(int(rule.error.exit_code)), rule.meaning) for rule in Rule]


def test_cpp_has_the_same_codes() -> None:
    text = (ROOT / "cc" / "bundle" / "rules.h").read_text(encoding="utf-8")
    found = re.findall(r'inline constexpr Rule k\w+\{"(bundle\.\w+)", ExitClass::k(\w+)\};', text)
    names = {3: "BadInput", 4: "Unsupported", 7: "Resource"}
    assert found == [(rule.slug, names[int(rule.error.exit_code)]) for rule in Rule if rule not in WRITER_ONLY]


def test_limits() -> None:
    assert f"at most {MAX_HEADER_LENGTH:,}" in PAGE
    assert f"A page is {ALIGNMENT} bytes." in PAGE
    assert f"one of `{' '.join(DTYPES)}`" in PAGE


def test_every_key_is_on_the_page() -> None:
    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | set().union(*(keys(item) for item in value.values()))
        return set().union(*(keys(item) for item in value)) if isinstance(value, list) else set()

    value = sample.header()
    engine = value["components"][0]["engines"][0]
    engine["options"] = {}
    engine["contract"]["profiles"][0]["dims"] = {}
    assert {key for key in keys(value) if f"`{key}`" not in PAGE} == set()
