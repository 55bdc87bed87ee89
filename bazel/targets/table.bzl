"""The targets, as data. A new target is one entry here; everything else (platforms, constraints, toolchains, .bazelrc names) follows from it.

`holds` is the one table of element types that an engine for the target can hold; //python/trtmc/compilers/tensorrt:capabilities_test measures it again.
`memory_gb` is that of the largest GPU of the kind that is sold: engines whose caches cannot fit there are refused. `compiler` and the versions go into target.json and so into every engine's key. A compiler that this build cannot run yet has a `missing` sentence in
COMPILERS; its targets exist, and building for one fails in analysis with that sentence.
"""

load("//third_party:wheels.lock.bzl", "WHEELS")

# Name -> version, whether engines can be built on any CPU, what is missing, if it is, and the options that are no attributes of
# engine(). Of TensorRT's knobs: whether there are build routes, and the least workspace (MiB) in which any decoder compiles.
COMPILERS = {
    "openvino": struct(
        build_routes = False,
        min_workspace_mib = 0,
        options = {"compute": ["f32", "bf16"], "kernels": ["auto", "trtmc", "openvino"]},
        version = WHEELS["openvino"]["version"],
        needs_gpu = False,
        missing = "",
    ),
    "tensorrt": struct(
        build_routes = True,
        min_workspace_mib = 0,
        options = {},
        version = WHEELS["tensorrt-cu13-bindings"]["version"],
        needs_gpu = True,
        missing = "this build has no TensorRT 11 builder library (its package only fetches it from elsewhere), and building needs a GPU of the target",
    ),
    "tensorrt_rtx": struct(
        build_routes = False,
        min_workspace_mib = 8,
        options = {},
        version = WHEELS["tensorrt-rtx-cu13-libs"]["version"],
        needs_gpu = False,
        missing = "",
    ),
}

# Element types, as precisions are called. Those after bf16 are types of stored weights.
TYPES = ["fp32", "fp16", "bf16", "int8", "int4", "fp8", "fp4"]

# Those that families build networks in.
NETWORK_TYPES = ["fp32", "fp16", "bf16"]

def _target(compiler, runs_on, compute_capability = None, lacks = [], memory_gb = None):
    return struct(
        arch = "x86_64",
        compiler = compiler,
        compute_capability = compute_capability,
        cuda_version = None if compiler == "openvino" else "13.0",
        holds = [kind for kind in TYPES if kind not in lacks],
        memory_gb = memory_gb,
        os = "linux",
        runs_on = runs_on,
    )

# What compute capability 7.5 and 8.0 lack; the portable target runs on 8.0 too, so it holds what that holds.
_TURING = ["fp32", "bf16", "int4", "fp8", "fp4"]
_AMPERE = ["fp8", "fp4"]

TARGETS = {
    "cpu_x86_64": _target("openvino", "any x86-64 CPU"),
    "rtx_portable": _target("tensorrt_rtx", "compute capability 8.0, 8.6, 8.9, 12.x", lacks = _AMPERE, memory_gb = 128),
    "sm_100": _target("tensorrt", "compute capability 10.0", "10.0", memory_gb = 192),
    "sm_120": _target("tensorrt_rtx", "compute capability 12.0", "12.0", memory_gb = 96),
    "sm_121": _target("tensorrt_rtx", "compute capability 12.1", "12.1", memory_gb = 128),
    "sm_75": _target("tensorrt_rtx", "compute capability 7.5", "7.5", lacks = _TURING, memory_gb = 48),
    "sm_80": _target("tensorrt_rtx", "compute capability 8.0", "8.0", lacks = _AMPERE, memory_gb = 80),
    "sm_86": _target("tensorrt_rtx", "compute capability 8.6", "8.6", lacks = _AMPERE, memory_gb = 48),
    "sm_89": _target("tensorrt_rtx", "compute capability 8.9", "8.9", lacks = ["fp4"], memory_gb = 48),
    "sm_90": _target("tensorrt", "compute capability 9.0", "9.0", lacks = ["fp4"], memory_gb = 144),
}

DEFAULT_TARGET = "cpu_x86_64"

def target_info(name):
    """The TargetInfo record of a target, as it stands in target.json.

    Args:
      name: a key of TARGETS.
    Returns:
      a dict, ready for JSON.
    """
    target = TARGETS[name]
    return {
        "arch": target.arch,
        "compiler": target.compiler,
        "compiler_version": COMPILERS[target.compiler].version,
        "compute_capability": target.compute_capability,
        "cuda_version": target.cuda_version,
        "name": name,
        "os": target.os,
    }

def table_record(name):
    """A target's row in python/trtmc/core/targets.json, the copy of this table for runs without the build graph.

    Args:
      name: a key of TARGETS.
    Returns:
      a dict, ready for JSON.
    """
    target = TARGETS[name]
    compiler = COMPILERS[target.compiler]
    return target_info(name) | {
        "build_routes": compiler.build_routes,
        "holds": target.holds,
        "memory_gb": target.memory_gb,
        "min_workspace_mib": compiler.min_workspace_mib,
    }

def option_sentence(compiler, name, value):
    """Why a compiler does not take one of the `options` of engine(), or "" if it does.

    Args:
      compiler: a key of COMPILERS.
      name: of the option.
      value: text.
    Returns:
      a sentence.
    """
    known = COMPILERS[compiler].options
    if name not in known:
        return "compiler '{}' has no option '{}'; it has {}".format(compiler, name, ", ".join(known) or "none")
    if value not in known[name]:
        return "option '{}' of compiler '{}' is one of {}, found '{}'".format(name, compiler, ", ".join(known[name]), value)
    return ""

def knob_sentence(compiler, build_route, workspace_mib):
    """Why a compiler does not take these values of its knobs, or "" if it does.

    Args:
      compiler: a key of COMPILERS.
      build_route: text; "" for none.
      workspace_mib: a number; 0 leaves the compiler's limit.
    Returns:
      a sentence.
    """
    record = COMPILERS[compiler]
    if build_route and not record.build_routes:
        return "{} {} offers no build routes, so build_route '{}' would do nothing. What to do: leave it out".format(compiler, record.version, build_route)
    if workspace_mib and workspace_mib < record.min_workspace_mib:
        return "workspace_mib is {}, but {} {} compiles nothing with less than {}. What to do: give that or more, or leave it out".format(
            workspace_mib,
            compiler,
            record.version,
            record.min_workspace_mib,
        )
    return ""

def lacking_sentence(name, precision):
    """Why a precision cannot be built, for a target or at all, or "" if it can.

    Args:
      name: a key of TARGETS.
      precision: one of TYPES, or "auto".
    Returns:
      a sentence.
    """
    holds = TARGETS[name].holds
    if precision == "auto" or precision in holds:
        if precision in ["auto"] + NETWORK_TYPES:
            return ""
        return "target {} can hold {}, but no family builds such networks yet. What to do: choose one of auto, {}".format(name, precision, ", ".join(NETWORK_TYPES))
    others = [other for other in buildable_targets() if precision in TARGETS[other].holds]
    return "target {} cannot hold {}: it holds {}. What to do: choose another precision (auto picks one), or build for one of {}".format(
        name,
        precision,
        ", ".join(holds),
        ", ".join(others),
    )

def missing_sentence(name):
    """Why nothing can be built for a target, or "" if it can.

    Args:
      name: a key of TARGETS.
    Returns:
      a sentence.
    """
    missing = COMPILERS[TARGETS[name].compiler].missing
    if not missing:
        return ""
    return "target {} cannot be built: {}. What to do: build for one of {}".format(name, missing, ", ".join(buildable_targets()))

def buildable_targets():
    """Names of the targets whose compiler exists, sorted."""
    return sorted([name for name, target in TARGETS.items() if not COMPILERS[target.compiler].missing])
