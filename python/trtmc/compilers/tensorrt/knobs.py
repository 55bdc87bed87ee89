"""The builder's knobs: their types, defaults and meanings, and how they reach an IBuilderConfig.

Each is an attribute of `engine()` too. Docs say what each was seen to change in an ahead-of-time plan: some change
nothing there, since TensorRT-RTX picks kernels on the user's machine, but mean something to enterprise TensorRT.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trtmc.compilers.options import FlagsOption, NumberOption, Option, OptionSpec, TextOption
from trtmc.compilers.tensorrt.profiles import ProfileMode
from trtmc.core.errors import Unsupported, UsageError
from trtmc.core.target import TargetInfo, row_of_compiler
from trtmc.ops.lowering.api import trt

_MIB = 1 << 20
_TACTIC_SOURCES = ("edge_mask_convolutions", "jit_convolutions")

KNOBS: tuple[Option, ...] = (
    OptionSpec(
        "profiles",
        tuple(mode.value for mode in ProfileMode),
        "shared: a profile for each use, weights stored once; exact: the uses as declared; single: one profile for all",
    ),
    NumberOption("optimization_level", 3, 0, 5, "how long TensorRT may search"),
    NumberOption("workspace_mib", 0, 0, 1 << 20, "most temporary device memory of a layer; 0 leaves TensorRT's limit"),
    FlagsOption("tactic_sources", _TACTIC_SOURCES, "where kernels may come from"),
    TextOption("build_route", "TensorRT's compiler knobs, '-name=value' separated by spaces"),
    OptionSpec("timing_cache", ("on", "off"), "reuse of measured kernel times within a build"),
    OptionSpec("weight_streaming", ("off", "on"), "lets the runtime keep weights in host memory"),
    OptionSpec("tf32", ("off", "on"), "float32 products with 10-bit mantissas; Transformers has it off too"),
    OptionSpec(
        "profiling_verbosity", ("layer_names_only", "none", "detailed"), "what profilers and engine inspectors see"
    ),
)


def check_knobs(chosen: Mapping[str, str], target: TargetInfo) -> None:
    """Refuses what the table of targets knows that the compiler will not take; TensorRT ignores unknown routes."""
    row = row_of_compiler(target.compiler)
    if row is None:
        return
    compiler = f"{target.compiler} {target.compiler_version}"
    route, workspace = chosen["build_route"], int(chosen["workspace_mib"])
    if route and not row.build_routes:
        raise Unsupported(
            "compiler.build_route",
            f"{compiler} offers no build routes, so build_route '{route}' would do nothing; leave it out",
        )
    if workspace and workspace < row.min_workspace_mib:
        raise UsageError(
            "compiler.option",
            f"workspace_mib is {workspace}, but {compiler} compiles nothing with less than {row.min_workspace_mib}; "
            "give that or more, or leave it out",
        )


def apply_knobs(config: Any, chosen: Mapping[str, str]) -> None:
    """Sets the builder's configuration; `chosen` has every knob, checked already."""
    config.builder_optimization_level = int(chosen["optimization_level"])
    if chosen["workspace_mib"] != "0":
        config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, int(chosen["workspace_mib"]) * _MIB)
    if chosen["tactic_sources"] != "default":
        config.set_tactic_sources(tactic_mask(chosen["tactic_sources"]))
    if chosen["build_route"]:
        config.build_route = chosen["build_route"]
    _set_flag(config, trt.BuilderFlag.DISABLE_TIMING_CACHE, chosen["timing_cache"] == "off")
    _set_flag(config, trt.BuilderFlag.WEIGHT_STREAMING, chosen["weight_streaming"] == "on")
    _set_flag(config, trt.BuilderFlag.TF32, chosen["tf32"] == "on")
    config.profiling_verbosity = getattr(trt.ProfilingVerbosity, chosen["profiling_verbosity"].upper())


def tactic_mask(value: str) -> int:
    """The bit mask of some tactic sources, from their names joined by `+`."""
    names = () if value == "none" else value.split("+")
    return sum(1 << int(getattr(trt.TacticSource, name.upper())) for name in names)


def _set_flag(config: Any, flag: Any, on: bool) -> None:
    (config.set_flag if on else config.clear_flag)(flag)
