"""The TensorRT builder's knobs as typed attributes of engine(). Other compilers do not get them, so one engine() serves GPUs and the CPU.

Names, defaults and values are those of python/trtmc/compilers/tensorrt/knobs.py; a test compares the two.
"""

load("//bazel/targets:table.bzl", "knob_sentence")

TACTIC_SOURCES = ["edge_mask_convolutions", "jit_convolutions"]

# Defaults of the attributes, as attributes hold them.
_DEFAULTS = {
    "build_route": "",
    "optimization_level": 3,
    "profiles": "shared",
    "profiling_verbosity": "layer_names_only",
    "tactic_sources": ["default"],
    "tf32": False,
    "timing_cache": True,
    "weight_streaming": False,
    "workspace_mib": 0,
}

KNOB_ATTRS = {
    "build_route": attr.string(default = _DEFAULTS["build_route"], doc = "TensorRT's own compiler knobs, '-name=value' separated by spaces. Refused where TensorRT offers none, as TensorRT-RTX does."),
    "optimization_level": attr.int(default = _DEFAULTS["optimization_level"], values = [0, 1, 2, 3, 4, 5], doc = "How long TensorRT may search."),
    "profiles": attr.string(
        default = _DEFAULTS["profiles"],
        values = ["shared", "exact", "single"],
        doc = "`shared`: a profile for each use over one copy of the weights. `exact`: the uses as declared; with one sequence at once the plan then holds " +
              "most weights twice. `single`: one profile for all uses, the quickest to build.",
    ),
    "profiling_verbosity": attr.string(
        default = _DEFAULTS["profiling_verbosity"],
        values = ["layer_names_only", "none", "detailed"],
        doc = "What profilers and engine inspectors see of the layers.",
    ),
    "tactic_sources": attr.string_list(
        default = _DEFAULTS["tactic_sources"],
        doc = "Where kernels may come from: [\"default\"], [] for none, or some of {}.".format(", ".join(TACTIC_SOURCES)),
    ),
    "tf32": attr.bool(default = _DEFAULTS["tf32"], doc = "Float32 products with 10-bit mantissas, for fp32 networks."),
    "timing_cache": attr.bool(default = _DEFAULTS["timing_cache"], doc = "Reuse of measured kernel times within a build."),
    "weight_streaming": attr.bool(default = _DEFAULTS["weight_streaming"], doc = "Lets the runtime keep weights in host memory."),
    "workspace_mib": attr.int(default = _DEFAULTS["workspace_mib"], doc = "Most temporary device memory of a layer, in MiB; 0 leaves TensorRT's limit."),
}

def knob_options(ctx, compiler):
    """The knobs as `--option` values of trtmc-build.

    Args:
      ctx: of a rule with KNOB_ATTRS.
      compiler: the target's compiler.
    Returns:
      a dict of strings; empty for a compiler without knobs.
    """
    if compiler not in ["tensorrt", "tensorrt_rtx"]:
        return {}
    sources = ctx.attr.tactic_sources
    for source in sources:
        if source not in TACTIC_SOURCES and sources != ["default"]:
            fail("{}: tactic_sources has '{}'; it takes [\"default\"], [] or some of {}".format(ctx.label, source, ", ".join(TACTIC_SOURCES)))
    if ctx.attr.workspace_mib < 0 or ctx.attr.workspace_mib > 1 << 20:
        fail("{}: workspace_mib is {}; it takes 0 to {}".format(ctx.label, ctx.attr.workspace_mib, 1 << 20))
    refusal = knob_sentence(compiler, ctx.attr.build_route, ctx.attr.workspace_mib)
    if refusal:
        fail("{}: {}".format(ctx.label, refusal))
    return _as_text(ctx.attr)

def default_knob_options():
    """What knob_options gives for an engine() that sets none."""
    return _as_text(struct(**_DEFAULTS))

def _as_text(values):
    options = {
        "optimization_level": str(values.optimization_level),
        "profiles": values.profiles,
        "profiling_verbosity": values.profiling_verbosity,
        "tactic_sources": "+".join(values.tactic_sources) or "none",
        "tf32": "on" if values.tf32 else "off",
        "timing_cache": "on" if values.timing_cache else "off",
        "weight_streaming": "on" if values.weight_streaming else "off",
        "workspace_mib": str(values.workspace_mib),
    }
    if values.build_route:
        options["build_route"] = values.build_route
    return options
