"""Tests of the image rules: what they declare, what a layer's key holds, how targets share layers, and what is refused."""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts", "unittest")
load("//bazel:defs.bzl", "ImageInfo", "ImageLayerInfo", "bazel_layer", "bundle_image", "downloads_layer", "image", "image_layer")
load(":image.bzl", "missing_backend")
load(":target_transitions.bzl", "layer_platforms")

def _actions(env, mnemonic):
    return [action for action in analysistest.target_actions(env) if action.mnemonic == mnemonic]

def _names(files):
    return sorted([file.basename for file in files.to_list()])

def _layer_impl(ctx):
    env = analysistest.begin(ctx)
    info = analysistest.target_under_test(env)[ImageLayerInfo]
    (action,) = _actions(env, "TrtmcImageLayer")
    asserts.equals(env, ["layer", info.manifest.path, info.descriptor.path, info.blob.path], action.argv[1:], "file lists stand in a manifest")
    asserts.true(env, "config.json" in _names(action.inputs))
    return analysistest.end(env)

_layer_test = analysistest.make(_layer_impl)

def _image_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, ["base", "backend", "runtime", "bundle"], [layer.name for layer in target[ImageInfo].layers])
    (written,) = _actions(env, "TrtmcImage")
    asserts.true(env, "bundle.bundle" in _names(written.inputs), "the bundle is streamed into the archive")
    asserts.equals(env, None, target[ImageInfo].layers[3].blob, "a bundle is written once")
    (checked,) = _actions(env, "TrtmcImageCheck")
    validated = _names(target[OutputGroupInfo]._validation)
    for name in _names(checked.outputs) + ["runtime.checked.json", "bundle.verified.json"]:
        asserts.true(env, name in validated, "every build of an image checks it, its base and its bundle: " + name)
    asserts.equals(env, "65532:65532", target[ImageInfo].config["user"])
    asserts.false(env, "volatile-status.txt" in _names(written.inputs) or "stable-status.txt" in _names(written.inputs), "unstamped")
    return analysistest.end(env)

_image_test = analysistest.make(_image_impl)

def _to_build_in_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    (written,) = _actions(env, "TrtmcImage")
    asserts.false(env, "target.json" in _names(written.inputs), "it serves every target")
    asserts.equals(env, None, target[ImageInfo].target)
    (checked,) = _actions(env, "TrtmcImageCheck")
    asserts.equals(env, "--shell", checked.argv[-1])
    return analysistest.end(env)

_to_build_in_test = analysistest.make(_to_build_in_impl)

def _bazel_layer_impl(ctx):
    env = analysistest.begin(ctx)
    (action,) = _actions(env, "TrtmcImageLayer")
    asserts.true(env, "bazel.debs.lock" in _names(action.inputs), "the packages are checked against the lock")
    (manifest,) = [action for action in _actions(env, "FileWrite") if "manifest" in action.outputs.to_list()[0].basename]
    written = json.decode(manifest.content)["bazel"]
    asserts.equals(env, "opt/b", written["prefix"])
    asserts.equals(env, ["common --color=no"], written["options"])
    return analysistest.end(env)

_bazel_layer_test = analysistest.make(_bazel_layer_impl)

def _downloads_impl(ctx):
    env = analysistest.begin(ctx)
    (manifest,) = [action for action in _actions(env, "FileWrite") if "manifest" in action.outputs.to_list()[0].basename]
    written = json.decode(manifest.content)
    asserts.equals(env, ["opt/c/content_addressable/sha256/{}/file".format("a" * 64)], [row["path"] for row in written["files"]])
    asserts.equals(env, "none", written["compression"])
    return analysistest.end(env)

_downloads_test = analysistest.make(_downloads_impl)

def _stamped_impl(ctx):
    env = analysistest.begin(ctx)
    (written,) = _actions(env, "TrtmcImage")
    asserts.true(env, "stable-status.txt" in _names(written.inputs))
    return analysistest.end(env)

_stamped_test = analysistest.make(_stamped_impl, config_settings = {"//command_line_option:stamp": True})

def _refused_impl(ctx):
    env = analysistest.begin(ctx)
    asserts.expect_failure(env, ctx.attr.sentence)
    return analysistest.end(env)

_refused_test = analysistest.make(
    _refused_impl,
    attrs = {"sentence": attr.string(mandatory = True, doc = "What the failure must say.")},
    expect_failure = True,
)

def _platforms_impl(ctx):
    env = unittest.begin(ctx)
    at = "@@//bazel/targets:"
    asserts.equals(env, [at + "sm_89"], layer_platforms([at + "sm_89"], ""), "without `images` above, nothing changes")
    asserts.equals(env, [at + "cpu_x86_64"], layer_platforms([at + "sm_89"], at + "cpu_x86_64"), "layers go back to the command line's platform")
    return unittest.end(env)

_platforms_test = unittest.make(_platforms_impl)

def _sentences_impl(ctx):
    env = unittest.begin(ctx)
    asserts.equals(env, "", missing_backend("openvino", ["libtbb.so.12", "libtrtmc_backend_openvino.so"]))
    asserts.true(env, "libtrtmc_backend_tensorrt.so is not part of this build" in missing_backend("tensorrt_rtx", ["libtrtmc_backend_openvino.so"]))
    return unittest.end(env)

_sentences_test = unittest.make(_sentences_impl)

def image_test_suite(name):
    """All tests of this file.

    Args:
      name: name of the suite.
    """
    data = "//bazel/private/testdata:"
    image_layer(
        name = "one_layer",
        files = {data + "one/config.json": "/etc/one.json"},
        symlinks = {"/link": "/opt/real"},
        tags = ["manual"],
    )
    _layer_test(name = name + "_layer", target_under_test = ":one_layer")
    bundle_image(name = "bundle_image", bundle = data + "bundle", repository = "x", tags = ["manual"])
    _image_test(name = name + "_image", target_under_test = ":bundle_image")
    _stamped_test(name = name + "_stamped", target_under_test = ":bundle_image")

    bazel_layer(
        name = "a_bazel",
        lock = "//third_party:bazel.debs.lock",
        debs = [],
        options = ["common --color=no"],
        prefix = "/opt/b",
        tags = ["manual"],
    )
    _bazel_layer_test(name = name + "_bazel_layer", target_under_test = ":a_bazel")
    image(name = "to_build_in", for_target = False, layers = [":one_layer"], repository = "x", shell = True, tags = ["manual"])
    _to_build_in_test(name = name + "_to_build_in", target_under_test = ":to_build_in")
    bazel_layer(name = "bad_prefix", lock = "//third_party:bazel.debs.lock", debs = [], prefix = "opt/b", tags = ["manual"])
    _refused_test(name = name + "_bad_prefix", sentence = "'opt/b' is no absolute path inside an image", target_under_test = ":bad_prefix")
    image(name = "bundle_for_no_target", for_target = False, layers = [":bundle_image_layer"], repository = "x", tags = ["manual"])
    _refused_test(name = name + "_bundle_for_no_target", sentence = "the bundle is for cpu_x86_64, the image for no target", target_under_test = ":bundle_for_no_target")

    downloads_layer(name = "downloads", files = [data + "one/config.json"], path = "/opt/c", pins = {"config.json": "a" * 64}, tags = ["manual"])
    _downloads_test(name = name + "_downloads", target_under_test = ":downloads")
    downloads_layer(name = "unpinned", files = [data + "one/config.json"], pins = {}, tags = ["manual"])
    _refused_test(name = name + "_unpinned", sentence = "no pin for config.json. What to do: add it to third_party/deps.toml", target_under_test = ":unpinned")

    image_layer(name = "bad_path_layer", files = {data + "one/config.json": "etc/one.json"}, tags = ["manual"])
    _refused_test(name = name + "_bad_path", sentence = "'etc/one.json' is no absolute path inside an image", target_under_test = ":bad_path_layer")
    image(name = "two_bundles", layers = [":bundle_image_layer", ":bundle_image_layer_again"], repository = "x", tags = ["manual"])
    native.alias(name = "bundle_image_layer_again", actual = ":other_image_layer")
    bundle_image(name = "other_image", bundle = data + "bundle", repository = "x", tags = ["manual"])
    _refused_test(name = name + "_two_bundles", sentence = "has 2 bundles; an image takes one", target_under_test = ":two_bundles")

    unittest.suite(name + "_data", _platforms_test, _sentences_test)
    native.test_suite(
        name = name,
        tests = [":" + name + "_" + test for test in [
            "bad_path",
            "bad_prefix",
            "bazel_layer",
            "bundle_for_no_target",
            "data",
            "downloads",
            "image",
            "layer",
            "stamped",
            "to_build_in",
            "two_bundles",
            "unpinned",
        ]],
    )
