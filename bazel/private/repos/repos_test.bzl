"""Tests of the parts of the repository rules that decide without touching the machine."""

load("@bazel_skylib//lib:unittest.bzl", "asserts", "unittest")
load(":checkpoints.bzl", "checkpoint_file_names", "hub_url", "revision_problem")
load(":pinned.bzl", "pick_wheel")
load(":tensorrt_headers.bzl", "header_version", "version_problem")

def _wheels_impl(ctx):
    env = unittest.begin(ctx)
    any = ["a-1-py3-none-any.whl", "00"]
    mine = ["a-1-cp311-cp311-linux_x86_64.whl", "11"]
    asserts.equals(env, any, pick_wheel({"any": any}, "3.13"))
    asserts.equals(env, mine, pick_wheel({"3.11": mine}, "3.11"))
    asserts.equals(env, None, pick_wheel({"3.11": mine}, "3.13"))
    return unittest.end(env)

_wheels_test = unittest.make(_wheels_impl)

def _files_impl(ctx):
    env = unittest.begin(ctx)
    names = ["model.safetensors", "README.md", "config.json", ".cache.json", "chat_template.jinja", "pytorch_model.bin"]
    asserts.equals(env, ["chat_template.jinja", "config.json", "model.safetensors"], checkpoint_file_names(names))
    asserts.equals(env, [], checkpoint_file_names([]))
    return unittest.end(env)

_files_test = unittest.make(_files_impl)

def _hub_impl(ctx):
    env = unittest.begin(ctx)
    commit = "0123456789abcdef0123456789abcdef01234567"
    asserts.equals(env, "", revision_problem(commit))
    for bad in ["main", commit[1:], commit.upper(), commit + "0", ""]:
        asserts.true(env, "is not a commit" in revision_problem(bad), bad)
    url = "http://hub/org/model/resolve/{}/config.json".format(commit)
    for endpoint in ["http://hub", "http://hub/"]:
        asserts.equals(env, url, hub_url(endpoint, "org/model", commit, "config.json"))
    return unittest.end(env)

_hub_test = unittest.make(_hub_impl)

def _tensorrt_impl(ctx):
    env = unittest.begin(ctx)

    def version(major, suffix):
        lines = ["#define TRT_{}{} {} // x".format(part, suffix, number) for part, number in {"MAJOR": major, "MINOR": 1, "PATCH": 2}.items()]
        return header_version("\n".join(["// text", "#define NV_TENSORRT_MAJOR TRT_MAJOR" + suffix] + lines))

    asserts.equals(env, struct(product = "TensorRT", major = 11, minor = 1, patch = 2), version(11, "_ENTERPRISE"))
    asserts.equals(env, "TensorRT-RTX", version(1, "_RTX").product)
    for good in [version(11, "_ENTERPRISE"), version(1, "_RTX")]:
        asserts.equals(env, "", version_problem(good))
    asserts.true(env, version_problem(version(10, "_ENTERPRISE")).startswith("they are of TensorRT 10.1.2; this backend is written for"))
    asserts.true(env, "TensorRT-RTX 2.1.2" in version_problem(version(2, "_RTX")))
    asserts.true(env, "states no version" in version_problem(header_version("#define OTHER 3")))
    old = header_version("#define NV_TENSORRT_MAJOR 8\n#define NV_TENSORRT_MINOR 6\n#define NV_TENSORRT_PATCH 1\n")
    asserts.true(env, "TensorRT 8.6.1" in version_problem(old))
    return unittest.end(env)

_tensorrt_test = unittest.make(_tensorrt_impl)

def repos_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    unittest.suite(name, _wheels_test, _files_test, _hub_test, _tensorrt_test)
