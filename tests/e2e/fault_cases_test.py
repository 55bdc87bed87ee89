"""The checklist of known faults: every case of every area has tests that exist, and every such test is on the list."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).absolute().parents[2]
CHECKLIST = Path(__file__).with_name("fault_cases.toml")
#: Area → prefix of its case ids and how many there are. A checklist cannot know what it has lost by itself.
CASES = {
    "configuration": ("cfg", 8),
    "weight_files": ("wts", 7),
    "numerics": ("num", 2),
    "tokenizer": ("tok", 7),
    "chat_templates": ("tpl", 6),
    "decoding": ("dec", 8),
    "plugins": ("dso", 1),
    "container_images": ("oci", 4),
    "build_graph": ("bld", 5),
}


def checklist() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(CHECKLIST.read_text(encoding="utf-8"))


def test_names(path: Path) -> list[str]:
    """Names of all test functions of a file that hold at least one statement besides the docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return [
        node.name for node in functions if node.name.startswith("test_") and not isinstance(node.body[-1], ast.Pass)
    ]


test_names.__test__ = False  # type: ignore[attr-defined]


def test_every_case_is_on_the_list() -> None:
    expected = {area: {f"{prefix}-{i + 1}" for i in range(count)} for area, (prefix, count) in CASES.items()}
    assert {area: set(cases) for area, cases in checklist().items()} == expected


def test_every_case_has_tests_that_exist() -> None:
    missing = []
    for cases in checklist().values():
        for case, places in cases.items():
            for place in places:
                file, prefix = place.split(": ")
                assert case.replace("-", "_") in prefix, f"{case}: the prefix '{prefix}' names another case"
                path = ROOT / file
                if not path.is_file() or not any(name.startswith(prefix) for name in test_names(path)):
                    missing.append(f"{case}: {place}")
            if not places:
                missing.append(f"{case}: no test is named")
    assert missing == []


def test_every_test_named_after_a_case_is_on_the_list() -> None:
    known = {case.replace("-", "_") for cases in checklist().values() for case in cases}
    pattern = re.compile(r"test_((?:cfg|wts|num|tok|tpl|dec|dso)_\d+)_")
    for path in sorted(Path(__file__).parent.glob("*_test.py")):
        for name in test_names(path):
            match = pattern.match(name)
            assert match is None or match[1] in known, f"{path.name}: {name} is named after an unknown case"
