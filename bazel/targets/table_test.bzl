"""Tests of the table of targets, and that a target whose compiler is missing fails in analysis with a sentence."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load(":table.bzl", "COMPILERS", "DEFAULT_TARGET", "TARGETS", "TYPES", "buildable_targets", "lacking_sentence", "missing_sentence", "target_info")

def _every_target_is_complete_impl(ctx):
    env = unittest.begin(ctx)
    keys = ["arch", "compiler", "compiler_version", "compute_capability", "cuda_version", "name", "os"]
    for name, target in TARGETS.items():
        info = target_info(name)
        asserts.equals(env, keys, sorted(info.keys()), name)
        asserts.true(env, target.compiler in COMPILERS, name)
        is_cpu = target.compiler == "openvino"
        asserts.equals(env, is_cpu, info["cuda_version"] == None, name)
        if name.startswith("sm_"):
            digits = name[3:]
            asserts.equals(env, "{}.{}".format(digits[:-1], digits[-1]), info["compute_capability"], name)
    return unittest.end(env)

_every_target_is_complete_test = unittest.make(_every_target_is_complete_impl)

def _the_design_s_table_is_there_impl(ctx):
    env = unittest.begin(ctx)
    expected = ["cpu_x86_64", "rtx_portable", "sm_100", "sm_120", "sm_121", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"]
    asserts.equals(env, expected, sorted(TARGETS.keys()))
    asserts.true(env, DEFAULT_TARGET in buildable_targets())
    asserts.equals(env, ["cpu_x86_64", "rtx_portable", "sm_120", "sm_121", "sm_75", "sm_80", "sm_86", "sm_89"], buildable_targets())
    for name in ["sm_90", "sm_100"]:
        asserts.true(env, COMPILERS[TARGETS[name].compiler].needs_gpu, name)
    for name in ["sm_75", "sm_89", "rtx_portable"]:
        asserts.false(env, COMPILERS[TARGETS[name].compiler].needs_gpu, name)
    return unittest.end(env)

_the_design_s_table_is_there_test = unittest.make(_the_design_s_table_is_there_impl)

def _fails_with_its_sentence_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, missing_sentence(ctx.attr.target_name))
    return analysistest.end(env)

def _failing_test(target):
    return analysistest.make(
        _fails_with_its_sentence_impl,
        attrs = {"target_name": attr.string(default = target)},
        config_settings = {"//command_line_option:platforms": [str(Label("//bazel/targets:" + target))]},
        expect_failure = True,
    )

def _what_targets_hold_impl(ctx):
    env = unittest.begin(ctx)
    for name, target in TARGETS.items():
        asserts.true(env, "fp16" in target.holds, name)
        asserts.equals(env, target.compiler == "openvino", target.memory_gb == None, name)
        asserts.equals(env, [kind for kind in TYPES if kind in target.holds], target.holds, name)
    portable = TARGETS["rtx_portable"].holds
    for name in ["sm_80", "sm_86", "sm_89", "sm_120", "sm_121"]:
        asserts.equals(env, [], [kind for kind in portable if kind not in TARGETS[name].holds], name)
    asserts.equals(env, "", lacking_sentence("sm_75", "auto"))
    asserts.equals(env, "", lacking_sentence("sm_80", "bf16"))
    asserts.equals(env, "target sm_75 cannot hold fp8: it holds fp16, int8.", lacking_sentence("sm_75", "fp8").split(" What")[0])
    asserts.true(env, lacking_sentence("sm_89", "fp8").startswith("target sm_89 can hold fp8, but no family builds such networks yet."))
    asserts.true(env, lacking_sentence("sm_89", "fp4").endswith("build for one of cpu_x86_64, sm_120, sm_121"))
    return unittest.end(env)

_what_targets_hold_test = unittest.make(_what_targets_hold_impl)

def _lacking_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "target sm_75 cannot hold bf16: it holds fp16, int8.")
    return analysistest.end(env)

_bf16_on_sm_75_test = analysistest.make(
    _lacking_impl,
    config_settings = {"//command_line_option:platforms": [str(Label("//bazel/targets:sm_75"))]},
    expect_failure = True,
)

_sm_90_fails_test = _failing_test("sm_90")
_sm_100_fails_test = _failing_test("sm_100")

def table_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    unittest.suite(name + "_data", _every_target_is_complete_test, _the_design_s_table_is_there_test, _what_targets_hold_test)
    engine = "//bazel/private/testdata:engine"
    _sm_90_fails_test(name = name + "_sm_90", target_under_test = engine)
    _sm_100_fails_test(name = name + "_sm_100", target_under_test = engine)
    _bf16_on_sm_75_test(name = name + "_bf16_on_sm_75", target_under_test = "//bazel/private/testdata:engine_bf16")
    native.test_suite(name = name, tests = [":" + name + "_data", ":" + name + "_bf16_on_sm_75", ":" + name + "_sm_90", ":" + name + "_sm_100"])
