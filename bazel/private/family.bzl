"""family: declares one model line to the build graph. It knows nothing of any particular model."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library")
load(":providers.bzl", "FamilyInfo")
load(":transitions.bzl", "cpu_of_target")

def _impl(ctx):
    python = ctx.attr.python[0]  # a list, since its configuration changes
    return [
        DefaultInfo(files = python[DefaultInfo].files, runfiles = python[DefaultInfo].default_runfiles),
        python[PyInfo],
        FamilyInfo(
            builder = ctx.attr.builder.files_to_run,
            components = ctx.attr.components,
            name = ctx.attr.family,
            runtime = ctx.file.runtime,
        ),
    ]

_family = rule(
    implementation = _impl,
    doc = "The declaration itself; `family` below is what BUILD files write.",
    provides = [FamilyInfo, PyInfo],
    attrs = {
        "builder": attr.label(mandatory = True, executable = True, cfg = "exec", doc = "trtmc-build with this family's Python."),
        "components": attr.string_list(mandatory = True, doc = "Components of a bundle; MODEL.toml says the same to Python."),
        "family": attr.string(mandatory = True, doc = "The family's name."),
        "python": attr.label(mandatory = True, cfg = cpu_of_target, providers = [PyInfo], doc = "The family's Python; the family can stand among a Python target's deps."),
        "runtime": attr.label(allow_single_file = [".so"], cfg = cpu_of_target, doc = "The model DSO; one for all targets."),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def family(name, components, srcs, data, deps, runtime = None):
    """One family: its Python, its own builder, its runtime, and the flag that swaps its checkpoint.

    Derived targets:
      `:NAME_python` the family's Python as a library; `:builder` trtmc-build with this family and no other, so that an edit in one family rebuilds
      nothing of another; `:checkpoint` a label flag (`--//families/NAME:checkpoint=@x//:checkpoint`) whose default is `:default_checkpoint`.

    Args:
      name: the family's name, that of its folder.
      components: components of a bundle, as in MODEL.toml.
      runtime: label of the model DSO, if there is one.
      srcs: the family's Python files.
      data: MODEL.toml.
      deps: what its Python imports.
    """
    py_library(
        name = name + "_python",
        srcs = srcs,
        data = data,
        visibility = ["//visibility:public"],
        deps = deps,
    )
    py_binary(
        name = "builder",
        srcs = ["//bazel/private/tools:builder.py"],
        main = "//bazel/private/tools:builder.py",
        visibility = ["//visibility:public"],
        deps = [":" + name + "_python", "//bazel/private/tools:builder_core"],
    )
    native.label_flag(
        name = "checkpoint",
        build_setting_default = ":default_checkpoint",
        visibility = ["//visibility:public"],
    )
    _family(
        name = name,
        builder = ":builder",
        components = components,
        family = name,
        python = ":" + name + "_python",
        runtime = runtime,
        visibility = ["//visibility:public"],
    )
