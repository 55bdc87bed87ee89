"""Tests of the rules: the actions that they declare, the providers that they give, and what they refuse."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//bazel:defs.bzl", "BundleInfo", "CheckpointInfo", "EngineInfo", "bundle", "checkpoint", "engine", "fat_bundle")
load(":knobs.bzl", "default_knob_options")

def _action(env, mnemonic):
    """The one action of that mnemonic."""
    found = [action for action in analysistest.target_actions(env) if action.mnemonic == mnemonic]
    asserts.equals(env, 1, len(found), "actions of mnemonic " + mnemonic)
    return found[0]

def _names(depset):
    return sorted([file.basename for file in depset.to_list()])

def _checkpoint_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[CheckpointInfo]
    asserts.true(env, info.directory.is_directory)
    asserts.equals(env, "folder:two", info.source)
    asserts.equals(env, "7", info.revision)
    action = _action(env, "TrtmcCheckpoint")
    for name in ["config.json", "two_checkpoint.manifest.json"]:
        asserts.true(env, name in _names(action.inputs), name)
    asserts.equals(env, 3, len(action.argv), "files stand in a manifest, not on the command line: tool, manifest, output")
    return analysistest.end(env)

_checkpoint_test = analysistest.make(_checkpoint_impl)

def _engine_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[EngineInfo]
    asserts.equals(env, "llm", info.component)
    asserts.equals(env, "llama", info.family.name)
    asserts.equals(env, "cpu_x86_64", info.target.name)
    action = _action(env, "TrtmcEngine")
    words = action.argv
    for option, value in {"--component": "llm", "--max-sequence": "64", "--precision": "fp32", "--weights": "embedded"}.items():
        asserts.equals(env, value, words[words.index(option) + 1], option)
    asserts.equals(env, ["llm.engine", "llm.json", "llm.report.json"], _names(action.outputs))
    asserts.true(env, "target.json" in _names(action.inputs), "the target is an input, so it is part of the key")
    asserts.false(env, "qwen" in " ".join([file.path for file in action.inputs.to_list()]), "another family's file is an input")
    return analysistest.end(env)

_engine_test = analysistest.make(_engine_impl)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.sentence)
    return analysistest.end(env)

def _knobs_impl(ctx):
    env = analysistest.begin(ctx)
    words = _action(env, "TrtmcEngine").argv
    given = [words[index + 1] for index, word in enumerate(words) if word == "--option"]
    asserts.equals(env, ctx.attr.given, given)
    return analysistest.end(env)

_KNOBS_ATTRS = {"given": attr.string_list(doc = "The options that trtmc-build must get, in order.")}
_PLATFORMS = "//command_line_option:platforms"
_knobs_cpu_test = analysistest.make(_knobs_impl, attrs = _KNOBS_ATTRS)
_knobs_sm_89_test = analysistest.make(
    _knobs_impl,
    attrs = _KNOBS_ATTRS,
    config_settings = {_PLATFORMS: [str(Label("//bazel/targets:sm_89"))]},
)
_refused_sm_89_test = analysistest.make(
    _refused_impl,
    attrs = {"sentence": attr.string(mandatory = True, doc = "What the failure must say.")},
    config_settings = {_PLATFORMS: [str(Label("//bazel/targets:sm_89"))]},
    expect_failure = True,
)

def _bundle_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["cpu_x86_64"], [one.name for one in target[BundleInfo].targets])
    packed = _action(env, "TrtmcBundle")
    asserts.equals(env, ["bundle.bundle"], _names(packed.outputs))
    asserts.false(env, "llm.report.json" in _names(packed.inputs), "times and memory must not reach a bundle")
    verified = _action(env, "TrtmcVerify")
    asserts.equals(env, _names(verified.outputs), _names(target[OutputGroupInfo]._validation), "every build of a bundle verifies it")
    return analysistest.end(env)

_bundle_test = analysistest.make(_bundle_impl)

def _fat_bundle_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["cpu_x86_64", "sm_89"], [one.name for one in target[BundleInfo].targets])
    words = _action(env, "TrtmcBundle").argv
    named = [words[index + 1].partition("=")[0] for index, word in enumerate(words) if word in ["--engine", "--contract"]]
    asserts.equals(env, ["cpu_x86_64/llm", "cpu_x86_64/llm", "sm_89/llm", "sm_89/llm"], named)
    asserts.equals(env, 2, len([word for word in words if word == "--target-info"]))
    asserts.equals(env, 1, len([word for word in words if word == "--checkpoint"]), "all engines come from one checkpoint")
    return analysistest.end(env)

_fat_bundle_test = analysistest.make(_fat_bundle_impl)

_refused_test = analysistest.make(
    _refused_impl,
    attrs = {"sentence": attr.string(mandatory = True, doc = "What the failure must say.")},
    expect_failure = True,
)

def _refused(name, sentence, rule, test = _refused_test, **attrs):
    """A target that must not analyze, and the test that says why."""
    rule(name = name + "_subject", tags = ["manual"], **attrs)
    test(name = name, sentence = sentence, target_under_test = ":" + name + "_subject")

def rules_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    data = "//bazel/private/testdata:"
    checkpoint(name = "two_checkpoint", files = [data + "one/config.json"], revision = "7", source = "folder:two", tags = ["manual"])
    _checkpoint_test(name = name + "_checkpoint", target_under_test = ":two_checkpoint")
    _engine_test(name = name + "_engine", target_under_test = data + "engine")
    _bundle_test(name = name + "_bundle", target_under_test = data + "bundle")
    fat_bundle(name = "fat", engines = [data + "engine"], tags = ["manual"], targets = ["sm_89", "cpu_x86_64"])
    _fat_bundle_test(name = name + "_fat_bundle", target_under_test = ":fat")

    source = {"revision": "1", "source": "folder:x"}
    _refused(name + "_no_files", "give either `files` or `gguf`", checkpoint, **source)
    _refused(name + "_same_name", "two files are called config.json", checkpoint, files = [data + "one/config.json", data + "two/config.json"], **source)
    _refused(
        name + "_unknown_component",
        "family llama has no component 'visual'; it has llm",
        engine,
        checkpoint = data + "checkpoint",
        component = "visual",
        family = "//families/llama",
    )
    engine(name = "other_engine", checkpoint = "//families/qwen:default_checkpoint", family = "//families/qwen", tags = ["manual"])
    _refused(name + "_two_families", "has family llama, engine llm has qwen", bundle, engines = [data + "engine", ":other_engine"])
    _refused(name + "_component_twice", "needs the components llm; engines are given for llm, llm", bundle, engines = [data + "engine", data + "engine_again"])
    tuned = {"checkpoint": data + "checkpoint", "family": "//families/llama"}
    engine(
        name = "tuned_engine",
        optimization_level = 5,
        profiles = "single",
        tactic_sources = [],
        tags = ["manual"],
        weight_streaming = True,
        workspace_mib = 512,
        **tuned
    )
    options = default_knob_options() | {
        "optimization_level": "5",
        "profiles": "single",
        "tactic_sources": "none",
        "weight_streaming": "on",
        "workspace_mib": "512",
    }
    _knobs_sm_89_test(
        name = name + "_knobs_sm_89",
        given = ["{}={}".format(key, value) for key, value in sorted(options.items())],
        target_under_test = ":tuned_engine",
    )
    _knobs_cpu_test(name = name + "_knobs_cpu", given = [], target_under_test = ":tuned_engine")
    _refused(name + "_knob_twice", "'profiles' is an attribute of engine()", engine, options = {"profiles": "exact"}, **tuned)
    _refused(name + "_unknown_option", "compiler 'openvino' has no option 'banana'", engine, options = {"banana": "1"}, **tuned)
    _refused(name + "_option_value", "option 'kernels' of compiler 'openvino' is one of auto, trtmc, openvino, found 'fast'", engine, options = {"kernels": "fast"}, **tuned)
    _refused(name + "_tactics", "tactic_sources has 'cudnn'", engine, test = _refused_sm_89_test, tactic_sources = ["cudnn"], **tuned)
    _refused(name + "_build_route", "offers no build routes, so build_route '-a=b' would do nothing", engine, test = _refused_sm_89_test, build_route = "-a=b", **tuned)
    _refused(name + "_small_workspace", "compiles nothing with less than 8.", engine, test = _refused_sm_89_test, workspace_mib = 7, **tuned)
    _refused(name + "_workspace", "workspace_mib is -1", engine, test = _refused_sm_89_test, workspace_mib = -1, **tuned)
    native.test_suite(
        name = name,
        tests = [":" + name + "_" + test for test in [
            "build_route",
            "bundle",
            "checkpoint",
            "component_twice",
            "engine",
            "knob_twice",
            "knobs_cpu",
            "knobs_sm_89",
            "no_files",
            "option_value",
            "same_name",
            "small_workspace",
            "tactics",
            "two_families",
            "unknown_component",
            "unknown_option",
            "workspace",
        ]],
    )
