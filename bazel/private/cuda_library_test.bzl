"""Tests of cuda_library: what its action reads, how it calls the compiler, and what it refuses."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("//bazel:defs.bzl", "CudaInfo", "cuda_library")
load(":cuda_library.bzl", "architecture_problem", "nvcc_arguments")

def _problems_impl(ctx):
    env = unittest.begin(ctx)
    known = ["sm_80", "sm_90a"]
    asserts.equals(env, "", architecture_problem(["sm_90a", "sm_80"], known))
    asserts.equals(env, "sm_70 is not an architecture of this CUDA compiler; it makes sm_80, sm_90a", architecture_problem(["sm_80", "sm_70"], known))
    asserts.true(env, "is empty" in architecture_problem([], known))
    asserts.true(env, "one twice" in architecture_problem(["sm_80", "sm_80"], known))
    return unittest.end(env)

_problems_test = unittest.make(_problems_impl)

def _arguments_impl(ctx):
    env = unittest.begin(ctx)
    words = nvcc_arguments("a/k.cu", "o/k.o", ["sm_90a", "sm_80"], ["-lineinfo"], "/usr/bin/gcc", [".", "bin"], ["sys"], ["X=1"])
    text = " ".join(words)
    for part in [
        "-gencode=arch=compute_90a,code=sm_90a -gencode=arch=compute_80,code=sm_80",
        "-Xcudafe --orig_src_path_name=a/k.cu",
        "-ccbin /usr/bin/gcc",
        "-I. -Ibin -isystem sys -DX=1 -lineinfo -c a/k.cu -o o/k.o",
    ]:
        asserts.true(env, part in text, "{} is not in {}".format(part, text))
    return unittest.end(env)

_arguments_test = unittest.make(_arguments_impl)

def _action_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["sm_80", "sm_90a"], target[CudaInfo].architectures)
    compile = [action for action in analysistest.target_actions(env) if action.mnemonic == "CudaCompile"]
    asserts.equals(env, 1, len(compile))
    names = [file.basename for file in compile[0].inputs.to_list()]
    for name in ["kernels.cu", "kernels.h", "nvcc", "cicc", "ptxas", "cuda_fp16.h", "fingerprint.txt"]:
        asserts.true(env, name in names, name + " is no input")
    asserts.false(env, compile[0].argv[-len(compile[0].argv) + 4].startswith("/"), "nvcc is called by a relative path")
    return analysistest.end(env)

_action_test = analysistest.make(_action_impl)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, "sm_70 is not an architecture of this CUDA compiler")
    return analysistest.end(env)

_refused_test = analysistest.make(_refused_impl, expect_failure = True)

def cuda_library_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    cuda_library(
        name = name + "_old",
        srcs = ["//bazel/private/testdata/cuda:kernels.cu"],
        architectures = ["sm_70"],
        tags = ["manual"],
    )
    unittest.suite(name + "_data", _problems_test, _arguments_test)
    _action_test(name = name + "_action", target_under_test = "//bazel/private/testdata/cuda:kernels")
    _refused_test(name = name + "_refused", target_under_test = ":" + name + "_old")
    native.test_suite(name = name, tests = [":" + name + suffix for suffix in ["_data", "_action", "_refused"]])
