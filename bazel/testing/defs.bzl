"""Test macros: Python tests run under pytest, C++ tests under GoogleTest, and each names its tier once.

A tier says what a test needs: `null` nothing (seconds), `cpu` an engine that runs on the CPU, `gpu` a GPU of the target. Size and tags follow from it;
.bazelrc leaves `gpu` out unless --config=gpu asks for it.

    trtmc_py_test(name = "config_test", srcs = ["config_test.py"], tier = "null", deps = [":core"])
    trtmc_cc_test(name = "decoder_test", srcs = ["decoder_test.cc"], tier = "null", deps = [":decoder"])
"""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("@rules_python//python:defs.bzl", "py_test")

_TIERS = {
    "cpu": struct(size = "medium", tags = ["cpu"]),
    "gpu": struct(size = "large", tags = ["gpu", "exclusive"]),
    "null": struct(size = "small", tags = ["null"]),
}

_RUNNER = "//bazel/testing:run_pytest.py"

def tier_attrs(name, tier, kwargs):
    """The size and tags of a test, from its tier.

    Args:
      name: the test's name, for messages.
      tier: "null", "cpu" or "gpu".
      kwargs: the caller's further attributes; `size` and `tags` in them are taken into account.
    Returns:
      a dict of attributes.
    """
    if tier not in _TIERS:
        fail("{}: tier must be one of {}, not {}".format(name, ", ".join(sorted(_TIERS)), repr(tier)))
    chosen = _TIERS[tier]
    return dict(kwargs, size = kwargs.get("size") or chosen.size, tags = chosen.tags + kwargs.get("tags", []))

def trtmc_py_test(name, srcs, tier, deps = [], data = [], **kwargs):
    """A pytest run over `srcs`; a run that collects no test fails.

    Args:
      name: target name.
      srcs: test files; a conftest.py may be among them.
      tier: "null", "cpu" or "gpu".
      deps: Python libraries under test; pytest is added.
      data: files that the tests read.
      **kwargs: passed to py_test.
    """
    tests = [src for src in srcs if not src.endswith("conftest.py")]
    py_test(
        name = name,
        srcs = srcs + [_RUNNER],
        args = ["$(rootpath {})".format(src) for src in tests] + kwargs.pop("args", []),
        data = data,
        main = _RUNNER,
        deps = deps + [dep for dep in ["//third_party:pytest"] if dep not in deps],
        **tier_attrs(name, tier, kwargs)
    )

def trtmc_cc_test(name, srcs, tier, deps = [], data = [], **kwargs):
    """A GoogleTest program.

    Args:
      name: target name.
      srcs: test files.
      tier: "null", "cpu" or "gpu".
      deps: C++ libraries under test; GoogleTest and its main are added.
      data: files that the tests read.
      **kwargs: passed to cc_test.
    """
    own = ["//third_party:gtest", "//third_party:gtest_main"]
    cc_test(
        name = name,
        srcs = srcs,
        data = data,
        deps = deps + [dep for dep in own if dep not in deps],
        **tier_attrs(name, tier, kwargs)
    )

def decoder_plugin_test(name, family, plugin):
    """What every decoder family's plugin must do: one strategy, right tokens over a table backend, bad bundles named.

    Args:
      name: target name.
      family: the family's name; its strategy is FAMILY_decoder_kv_cache.
      plugin: the plugin library of its model_dso.
    """
    trtmc_cc_test(
        name = name,
        srcs = ["//cc/testing:decoder_plugin_test.cc"],
        local_defines = [
            'TRTMC_FAMILY=\\"{}\\"'.format(family),
            'TRTMC_STRATEGY=\\"{}_decoder_kv_cache\\"'.format(family),
        ],
        tier = "null",
        deps = [plugin, "//cc/testing"],
    )
