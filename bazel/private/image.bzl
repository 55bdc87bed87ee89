"""image and images: layers put together for one target, or for many at once.

An image is one archive: an OCI layout and a `docker load` file in one, tagged VERSION-TARGET, with an SPDX list of contents and a provenance statement attached
to its digest. Every build of an image checks it too (a validation action).
"""

load("//bazel:version.bzl", "VERSION")
load("//bazel/targets:table.bzl", "TARGETS")
load(":image_layer.bzl", "RuntimePartInfo", "TOOL_ATTRS", "bundle_layer")
load(":providers.bzl", "BundleInfo", "ImageInfo", "ImageLayerInfo")
load(":target_transitions.bzl", "allowlist_attr", "targets_transition")

_COMPILER_TYPE = "//bazel/toolchains:engine_compiler_type"
_BACKENDS = {
    "openvino": "libtrtmc_backend_openvino",
    "tensorrt": "libtrtmc_backend_tensorrt",
    "tensorrt_rtx": "libtrtmc_backend_tensorrt",
}

StampInfo = provider(doc = "Whether the build is stamped.", fields = {"stamped": "bool."})

def _stamping_impl(ctx):
    return [StampInfo(stamped = ctx.attr.stamped)]

stamping = rule(
    implementation = _stamping_impl,
    doc = "Makes --stamp readable for other rules.",
    attrs = {"stamped": attr.bool(mandatory = True, doc = "A select() on --stamp.")},
)

def missing_backend(compiler, backends):
    """What an image lacks to run engines of a compiler.

    Args:
      compiler: a name of table.bzl's COMPILERS.
      backends: names of the libraries that are there.
    Returns:
      a sentence, or "".
    """
    wanted = _BACKENDS[compiler]
    if [name for name in backends if name.startswith(wanted)]:
        return ""
    return "{}.so is not part of this build, so the image cannot run engines of {}".format(wanted, compiler)

def _parts(ctx):
    """Layers, bundle and labels of the base image and of this one."""
    base = ctx.attr.base[ImageInfo] if ctx.attr.base else None
    layers = (base.layers if base else []) + [layer[ImageLayerInfo] for layer in ctx.attr.layers]
    bundles = [layer[BundleInfo] for layer in ctx.attr.layers if BundleInfo in layer]
    labels = dict(base.labels) if base else {}
    parts = [layer[RuntimePartInfo] for layer in ctx.attr.layers if RuntimePartInfo in layer]
    if parts:
        compiler = ctx.toolchains[_COMPILER_TYPE].engine_compiler.compiler
        missing = missing_backend(compiler, [name for part in parts for name in part.backends])
        if missing:
            # buildifier: disable=print
            print("{}: {}".format(ctx.label, missing))
            labels["io.trtmc.missing"] = missing
    if len(bundles) > 1:
        fail("{}: has {} bundles; an image takes one".format(ctx.label, len(bundles)))
    return base, layers, bundles[0] if bundles else None, labels | ctx.attr.labels

def _config(ctx, base, bundle):
    old = base.config if base else {}
    env = dict(old.get("env", {})) | ctx.attr.env
    path = ctx.attr.bundle_path
    return {
        "cmd": ctx.attr.cmd or ([] if bundle else old.get("cmd", [])),
        "entrypoint": ctx.attr.entrypoint or old.get("entrypoint", []),
        "env": env | ({"TRTMC_BUNDLE": path} if path else {}),
        "stop_signal": ctx.attr.stop_signal or old.get("stop_signal", ""),
        "user": ctx.attr.user or old.get("user", "65532:65532"),
        "workdir": ctx.attr.workdir or old.get("workdir", "/home/nonroot"),
    }

def _impl(ctx):
    base, layers, bundle, labels = _parts(ctx)
    config = _config(ctx, base, bundle)
    target = ctx.toolchains[_COMPILER_TYPE].engine_compiler.target if ctx.attr.for_target else None
    served = [one.name for one in bundle.targets] if bundle else []
    if bundle and (not target or target.name not in served):
        fail("{}: the bundle is for {}, the image for {}".format(ctx.label, ", ".join(served), target.name if target else "no target"))
    sources = [file for layer in layers for file in layer.sources]
    spec = ctx.actions.declare_file(ctx.label.name + ".image.json")
    archive = ctx.actions.declare_file(ctx.label.name + ".tar")
    record = ctx.actions.declare_file(ctx.label.name + ".digests.json")
    stamp = [ctx.info_file] if ctx.attr._stamp[StampInfo].stamped else []
    ctx.actions.write(spec, json.encode_indent({
        "architecture": ctx.attr.architecture,
        "bundle": bundle.bundle.path if bundle else None,
        "config": {
            "Cmd": config["cmd"],
            "Entrypoint": config["entrypoint"],
            "Env": ["{}={}".format(key, value) for key, value in sorted(config["env"].items())],
            "StopSignal": config["stop_signal"],
            "User": config["user"],
            "WorkingDir": config["workdir"],
        },
        "label": str(ctx.label).lstrip("@"),
        "labels": labels,
        "layers": [{
            "blob": layer.blob.path if layer.blob else None,
            "descriptor": layer.descriptor.path,
            "manifest": layer.manifest.path,
        } for layer in layers],
        "repository": ctx.attr.repository,
        "sources": [file.path for file in sources],
        "stamp": stamp[0].path if stamp else None,
        "target_info": target.file.path if target else None,
        "version": VERSION,
    }) + "\n")
    plain = [layer for layer in layers if not layer.blob]
    inputs = [spec] + ([target.file] if target else []) + sources + stamp + [layer.descriptor for layer in layers] + [layer.blob for layer in layers if layer.blob]
    inputs += [layer.manifest for layer in plain] + ([bundle.bundle] if bundle else [])
    ctx.actions.run(
        executable = ctx.executable._image_tool,
        arguments = ["image", spec.path, archive.path, record.path],
        inputs = depset(inputs, transitive = [layer.inputs for layer in plain]),
        outputs = [archive, record],
        mnemonic = "TrtmcImage",
        progress_message = "Writing image %{label}" + (" for " + target.name if target else ""),
    )
    verdict = ctx.actions.declare_file(ctx.label.name + ".checked.json")
    ctx.actions.run(
        executable = ctx.executable._image_tool,
        arguments = ["check", archive.path, verdict.path] + (["--shell"] if ctx.attr.shell else []),
        inputs = [archive],
        outputs = [verdict],
        mnemonic = "TrtmcImageCheck",
        progress_message = "Checking image %{label}",
    )
    return [
        DefaultInfo(files = depset([archive]), runfiles = ctx.runfiles([archive])),
        OutputGroupInfo(_validation = depset([verdict]), checked = depset([verdict]), digests = depset([record])),
        ImageInfo(archive = archive, config = config, digests = record, labels = labels, layers = layers, target = target),
    ]

image = rule(
    implementation = _impl,
    doc = """Puts layers together into one archive for the current target.

```
image(name = "mine", base = "//containers:runtime", layers = [":settings"], repository = "mine")
```
The output group `digests` is a JSON file with the digests of manifest, config and layers. With `--stamp` the labels name the commit.""",
    provides = [ImageInfo],
    attrs = TOOL_ATTRS | {
        "architecture": attr.string(default = "amd64", values = ["amd64", "arm64"], doc = "The machine that the image is for."),
        "base": attr.label(providers = [ImageInfo], doc = "An image to build on; its config is kept where this one says nothing."),
        "bundle_path": attr.string(doc = "Where the bundle lies; TRTMC_BUNDLE says so inside."),
        "cmd": attr.string_list(doc = "Arguments that are used when none are given."),
        "entrypoint": attr.string_list(doc = "The program, absolute, and its first arguments."),
        "env": attr.string_dict(doc = "Environment variables."),
        "for_target": attr.bool(default = True, doc = "Whether it is for the current target; False: its tag and labels name none, as for an image to build in."),
        "labels": attr.string_dict(doc = "Further labels."),
        "layers": attr.label_list(providers = [ImageLayerInfo], doc = "Layers, lowest first."),
        "repository": attr.string(mandatory = True, doc = "The image's name without registry and tag."),
        "shell": attr.bool(doc = "Whether it may hold a shell, as only an image to build in needs one."),
        "stop_signal": attr.string(doc = "The signal that asks it to end, such as SIGINT; engines send SIGTERM otherwise."),
        "user": attr.string(doc = "UID:GID that it runs as; root is refused."),
        "workdir": attr.string(doc = "The folder that it starts in."),
        "_stamp": attr.label(default = "//bazel/private:stamping", providers = [StampInfo]),
    },
    toolchains = [_COMPILER_TYPE],
)

def _images_impl(ctx):
    files = []
    groups = {"_validation": [], "digests": []}
    for name, targets in ctx.split_attr.image.items():
        info = targets[ImageInfo]
        for suffix, file in {".digests.json": info.digests, ".tar": info.archive}.items():
            link = ctx.actions.declare_file("{}/{}{}".format(ctx.label.name, name, suffix))
            ctx.actions.symlink(output = link, target_file = file)
            files.append(link)
        groups["_validation"].append(targets[OutputGroupInfo]._validation)
        groups["digests"].append(targets[OutputGroupInfo].digests)
    return [
        DefaultInfo(files = depset(files), runfiles = ctx.runfiles(files)),
        OutputGroupInfo(**{key: depset(transitive = value) for key, value in groups.items()}),
    ]

_images = rule(
    implementation = _images_impl,
    doc = "One image for several targets.",
    attrs = allowlist_attr | {
        "image": attr.label(mandatory = True, cfg = targets_transition, providers = [ImageInfo], doc = "The image."),
        "targets": attr.string_list(mandatory = True, doc = "Names of targets."),
    },
)

def images(name, image, targets, **kwargs):
    """An image for many targets at once: NAME/TARGET.tar for each, and NAME/TARGET.digests.json beside it.

    Args:
      name: target name.
      image: the image.
      targets: names of targets.
      **kwargs: passed to the rule.
    """
    for target in targets:
        if target not in TARGETS:
            fail("{}: unknown target {}; known are {}".format(name, target, ", ".join(sorted(TARGETS))))
    _images(name = name, image = image, targets = targets, **kwargs)

def bundle_image(name, bundle, base = "//containers:runtime", repository = None, **kwargs):
    """The runtime's image with a bundle as one more layer, at /bundles/PACKAGE.bundle, where PACKAGE is this package's last word.

    Derived targets: `:NAME_layer`, the bundle's layer.

    Args:
      name: target name.
      bundle: the bundle.
      base: the runtime's image.
      repository: the image's name; by default trtmc-PACKAGE.
      **kwargs: passed to `image`.
    """
    word = native.package_name().rpartition("/")[2]
    bundle_layer(name = name + "_layer", bundle = bundle, bundle_name = word, tags = kwargs.get("tags"))
    path = "/bundles/{}.bundle".format(word)
    image(
        name = name,
        base = base,
        bundle_path = path,
        cmd = ["inspect", path],
        layers = [":{}_layer".format(name)],
        repository = repository or "trtmc-" + word,
        **kwargs
    )
