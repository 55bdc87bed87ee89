"""Turns the table of targets into a platform, a constraint, a condition and an engine-compiler toolchain for each.

For target `sm_89`: platform `//bazel/targets:sm_89`, constraint value `:sm_89_target`, condition for select() `:is_sm_89`, toolchain `:sm_89_toolchain`.
"""

load("//bazel/private:engine_compiler.bzl", "engine_compiler")
load(":table.bzl", "COMPILERS", "TARGETS", "missing_sentence", "target_info")

TOOLCHAIN_TYPE = "//bazel/toolchains:engine_compiler_type"

def declare_targets():
    """Declares everything for every target of the table."""
    native.constraint_setting(name = "target")
    for name, target in TARGETS.items():
        native.constraint_value(name = name + "_target", constraint_setting = ":target")
        native.platform(
            name = name,
            constraint_values = [
                ":" + name + "_target",
                "@platforms//cpu:" + target.arch,
                "@platforms//os:" + target.os,
            ],
        )
        native.config_setting(name = "is_" + name, constraint_values = [":" + name + "_target"])
        engine_compiler(
            name = name + "_compiler",
            compiler = target.compiler,
            missing = missing_sentence(name),
            target = name,
            target_info = json.encode(target_info(name)),
        )
        native.toolchain(
            name = name + "_toolchain",
            # Where an engine is compiled on its own GPU, only a machine that has one will do.
            exec_compatible_with = ["//bazel/workers:{}_gpu".format(name)] if COMPILERS[target.compiler].needs_gpu else [],
            target_compatible_with = [":" + name + "_target"],
            toolchain = ":" + name + "_compiler",
            toolchain_type = TOOLCHAIN_TYPE,
        )
