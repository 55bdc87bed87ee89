"""The build graph's table of options, which refuses them in analysis, is the compiler's own."""

from __future__ import annotations

import json
import os

import pytest

from trtmc.compilers.openvino.compiler import OpenVinoCompiler
from trtmc.compilers.options import OptionSpec


def test_the_build_graph_knows_these_options_and_values() -> None:
    table = os.environ.get("TRTMC_COMPILER_OPTIONS")
    if table is None:
        pytest.skip("the table is handed over by the build graph: bazel test :options_test")
    choices = [option for option in OpenVinoCompiler.options if isinstance(option, OptionSpec)]
    assert len(choices) == len(OpenVinoCompiler.options)
    assert json.loads(table) == {option.name: list(option.values) for option in choices}
