"""Tests of the rules: the actions that they declare, the providers that they give, and what they refuse."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("//bazel:defs.bzl", "BundleInfo", "CheckpointInfo", "EngineInfo", "bundle", "checkpoint", "engine")

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
    for option, value in {"--component": "llm", "--max-sequence": "64", "--precision": "fp32"}.items():
        asserts.equals(env, value, words[words.index(option) + 1], option)
    asserts.equals(env, ["llm.engine", "llm.json", "llm.report.json"], _names(action.outputs))
    asserts.true(env, "target.json" in _names(action.inputs), "the target is an input, so it is part of the key")
    asserts.false(env, "qwen" in " ".join([file.path for file in action.inputs.to_list()]), "another family's file is an input")
    return analysistest.end(env)

_engine_test = analysistest.make(_engine_impl)

def _bundle_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, "cpu_x86_64", target[BundleInfo].target.name)
    packed = _action(env, "TrtmcBundle")
    asserts.equals(env, ["bundle.bundle"], _names(packed.outputs))
    asserts.false(env, "llm.report.json" in _names(packed.inputs), "times and memory must not reach a bundle")
    verified = _action(env, "TrtmcVerify")
    asserts.equals(env, _names(verified.outputs), _names(target[OutputGroupInfo]._validation), "every build of a bundle verifies it")
    return analysistest.end(env)

_bundle_test = analysistest.make(_bundle_impl)

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.sentence)
    return analysistest.end(env)

_refused_test = analysistest.make(
    _refused_impl,
    attrs = {"sentence": attr.string(mandatory = True, doc = "What the failure must say.")},
    expect_failure = True,
)

def _refused(name, sentence, rule, **attrs):
    """A target that must not analyze, and the test that says why."""
    rule(name = name + "_subject", tags = ["manual"], **attrs)
    _refused_test(name = name, sentence = sentence, target_under_test = ":" + name + "_subject")

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
    native.test_suite(
        name = name,
        tests = [":" + name + "_" + test for test in [
            "bundle",
            "checkpoint",
            "component_twice",
            "engine",
            "no_files",
            "same_name",
            "two_families",
            "unknown_component",
        ]],
    )
