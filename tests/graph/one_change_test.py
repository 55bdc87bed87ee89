"""What one change rebuilds: nothing for no change, one family's engines for that family, all for the compiler."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.harness import Checkout

BUNDLES = ("//families/llama:bundle", "//families/qwen:bundle")


@pytest.fixture(scope="module")
def built(tree: Checkout) -> Checkout:
    tree.build(*BUNDLES)
    return tree


def test_no_change_runs_no_action(built: Checkout) -> None:
    assert built.build(*BUNDLES).spawns == ()


def test_a_comment_in_one_family_rebuilds_that_family_alone(built: Checkout) -> None:
    with built.appended("families/qwen/weights.py", "\n# One more line.\n"):
        spawns = built.build(*BUNDLES).spawns  # executed, or taken from a cache that saw this edit before
    engines = [spawn.label for spawn in spawns if spawn.mnemonic == "TrtmcEngine"]
    assert engines == ["//families/qwen:llm"]
    assert not [spawn for spawn in spawns if "llama" in spawn.label]


def test_the_fingerprint_follows_the_compiler_behind_an_unchanged_path(built: Checkout, tmp_path: Path) -> None:
    """The fingerprint is an input of every compile and link action, so another compiler means other keys."""
    compiler = tmp_path / "gcc"
    fingerprints = []
    for line in ("# one", "# two"):
        compiler.write_text(f'#!/bin/sh\n{line}\nexec /usr/bin/gcc "$@"\n', "utf-8")
        compiler.chmod(0o755)
        result = built.bazel("query", "@host_cc//:compiler_deps", env={"CC": str(compiler)})
        assert result.code == 0, result.text
        (file,) = built.output_base.glob("external/*host_cc/extra_tools/fingerprint.txt")
        fingerprints.append(file.read_text("utf-8"))
    assert fingerprints[0] != fingerprints[1]


def test_the_fingerprint_is_an_input_of_compile_actions(built: Checkout) -> None:
    result = built.bazel("aquery", "--output=text", "mnemonic(CppCompile, //cc/sampling:sampling)")
    assert result.code == 0, result.text
    assert "extra_tools/fingerprint.txt" in result.text
