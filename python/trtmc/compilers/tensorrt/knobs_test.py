"""Each knob: its default, what it sets, what it refuses; and the same names and defaults in the build graph."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trtmc.compilers import CompileOptions, find_compiler
from trtmc.compilers.tensorrt.configuration import set_target
from trtmc.compilers.tensorrt.knobs import KNOBS, apply_knobs
from trtmc.compilers.tensorrt.profiles import add_profile
from trtmc.core.build import build_network
from trtmc.core.errors import Unsupported, UsageError
from trtmc.core.target import named_target
from trtmc.ops.lowering.api import trt
from trtmc.ops.lowering.network import NetworkLowering
from trtmc.testing import tiny_llama

TARGET = named_target("sm_89")
BUILDERS: list[NetworkLowering] = []  # a builder must outlive its configurations
DEFAULTS = {knob.name: knob.default for knob in KNOBS}
PAGE = Path(__file__).parents[4] / "docs" / "targets.md"


def chosen(**values: str) -> Mapping[str, str]:
    return find_compiler("tensorrt_rtx").chosen(CompileOptions(TARGET, values))


def configured(**values: str) -> Any:
    lowering = NetworkLowering()
    BUILDERS.append(lowering)
    config = lowering.builder.create_builder_config()
    apply_knobs(config, chosen(**values))
    return config


def test_defaults() -> None:
    config = configured()
    assert config.builder_optimization_level == 3
    assert config.profiling_verbosity == trt.ProfilingVerbosity.LAYER_NAMES_ONLY
    assert not any(config.get_flag(getattr(trt.BuilderFlag, flag)) for flag in ("TF32", "WEIGHT_STREAMING"))
    fresh = NetworkLowering()
    workspace = fresh.builder.create_builder_config().get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE)
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == workspace


def test_each_knob_reaches_the_configuration() -> None:
    config = configured(
        optimization_level="5",
        workspace_mib="64",
        tactic_sources="jit_convolutions",
        timing_cache="off",
        weight_streaming="on",
        tf32="on",
        profiling_verbosity="detailed",
    )
    assert config.builder_optimization_level == 5
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 64 << 20
    assert config.get_tactic_sources() == 1 << int(trt.TacticSource.JIT_CONVOLUTIONS)
    for flag in ("DISABLE_TIMING_CACHE", "WEIGHT_STREAMING", "TF32"):
        assert config.get_flag(getattr(trt.BuilderFlag, flag)), flag
    assert config.profiling_verbosity == trt.ProfilingVerbosity.DETAILED
    assert configured(tactic_sources="none").get_tactic_sources() == 0


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("optimization_level", "6", "a number from 0 to 5"),
        ("optimization_level", "-1", "a number from 0 to 5"),
        ("optimization_level", "fast", "a number from 0 to 5"),
        ("workspace_mib", "9999999", "a number from 0 to 1048576"),
        ("tactic_sources", "cudnn", "'default', 'none', or some of edge_mask_convolutions, jit_convolutions"),
        ("tactic_sources", "jit_convolutions+jit_convolutions", "joined by '+'"),
        ("weight_streaming", "yes", "one of off, on"),
        ("profiling_verbosity", "all", "one of layer_names_only, none, detailed"),
        ("profiles", "three", "one of shared, exact, single"),
        ("build_route", "-a=\n", "text"),
    ],
)
def test_out_of_range(name: str, value: str, allowed: str) -> None:
    with pytest.raises(UsageError) as caught:
        chosen(**{name: value})
    assert caught.value.code == "compiler.option"
    assert f"option '{name}' of compiler 'tensorrt_rtx' is " in caught.value.message
    assert allowed in caught.value.message


def test_a_build_route_is_refused_where_there_are_none() -> None:
    with pytest.raises(Unsupported, match="offers no build routes, so build_route '-a=b' would do nothing"):
        chosen(build_route="-a=b")
    assert not NetworkLowering().builder.create_builder_config().all_build_routes, "as the table of targets says"


def test_a_workspace_in_which_nothing_compiles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"workspace_mib is 7, but tensorrt_rtx .* compiles nothing with less than 8"):
        chosen(workspace_mib="7")
    for name in ("sm_75", "sm_89", "rtx_portable"):  # the table's number, measured again
        assert _compiles_with_workspace(tmp_path / f"{name}-8", name, 8)
        assert not _compiles_with_workspace(tmp_path / f"{name}-7", name, 7)


def _compiles_with_workspace(folder: Path, target: str, mib: int) -> bool:
    model = tiny_llama(hidden_size=64, num_hidden_layers=1).write(folder)
    build = build_network(model, precision="fp16", max_sequence=64)
    config = build.builder.create_builder_config()
    set_target(config, named_target(target))
    apply_knobs(config, DEFAULTS | {"workspace_mib": str(mib)})
    for profile in build.contract.profiles:
        add_profile(build.builder, config, build.contract.inputs, profile)
    return build.builder.build_serialized_network(build.network, config) is not None


def test_a_workspace_too_small_for_this_network_is_named(tmp_path: Path) -> None:
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4, "max_position_embeddings": 4096}
    model = tiny_llama(hidden_size=256, num_hidden_layers=1, **heads).write(tmp_path / "model")
    build = build_network(model, precision="fp16", max_sequence=4096)
    with pytest.raises(Unsupported, match=r"for sm_89 with workspace_mib 8 \(leave it out, or give more\)"):
        find_compiler("tensorrt_rtx").compile(build, CompileOptions(TARGET, {"workspace_mib": "8"}))


def test_knobs_are_recorded(tmp_path: Path) -> None:
    model = tiny_llama(hidden_size=64, num_hidden_layers=1).write(tmp_path / "model")
    build = build_network(model, precision="fp16", max_sequence=64)
    options = CompileOptions(TARGET, {"weight_streaming": "on", "profiling_verbosity": "detailed"})
    engine = find_compiler("tensorrt_rtx").compile(build, options)
    wanted = {**DEFAULTS, "weight_streaming": "on", "profiling_verbosity": "detailed"}
    assert engine.contract.report["options"] == build.report.facts["options"] == wanted


def test_the_build_graph_has_the_same_defaults() -> None:
    table = os.environ.get("TRTMC_KNOB_DEFAULTS")
    if table is None:
        pytest.skip("the defaults are handed over by the build graph: bazel test :knobs_test")
    assert json.loads(table) | {"build_route": ""} == DEFAULTS


def test_the_page_names_every_knob_with_its_default() -> None:
    page = PAGE.read_text("utf-8")
    assert [k.name for k in KNOBS if f"\n| `{k.name}` | `{k.default}` |" not in page and k.default] == []
