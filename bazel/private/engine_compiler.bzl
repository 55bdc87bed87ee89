"""engine_compiler: the toolchain implementation behind //bazel/toolchains:engine_compiler_type. It knows no family."""

load(":providers.bzl", "EngineCompilerInfo", "TargetInfo")

def _impl(ctx):
    file = ctx.actions.declare_file(ctx.attr.target + "/target.json")
    ctx.actions.write(file, ctx.attr.target_info + "\n")
    info = EngineCompilerInfo(
        compiler = ctx.attr.compiler,
        missing = ctx.attr.missing,
        target = TargetInfo(file = file, name = ctx.attr.target),
    )
    return [
        DefaultInfo(files = depset([file])),
        platform_common.ToolchainInfo(engine_compiler = info),
    ]

engine_compiler = rule(
    implementation = _impl,
    doc = "An engine compiler for one target; writes the target's target.json. What machine it needs is said by its toolchain(exec_compatible_with = …).",
    attrs = {
        "compiler": attr.string(mandatory = True, doc = "Name of the compiler, as trtmc-build knows it."),
        "missing": attr.string(doc = "Why this compiler cannot be used; building for the target then fails in analysis with this sentence."),
        "target": attr.string(mandatory = True, doc = "The target's name."),
        "target_info": attr.string(mandatory = True, doc = "The content of target.json."),
    },
)
