"""Layers: each one action, in its own target, so that images share them and a change makes only the layer that it touches.

The rules decide what lies where and write a manifest; //bazel/private/tools/image makes the bytes.
"""

load(":providers.bzl", "BundleInfo", "ImageLayerInfo")
load(":runtime_root.bzl", "RuntimeRootInfo")
load(":sources.bzl", "SourcesInfo", "source_files")
load(":target_transitions.bzl", "allowlist_attr", "layer_transition")

TOOL_ATTRS = {
    "_image_tool": attr.label(default = "//bazel/private/tools/image", executable = True, cfg = "exec"),
}

_ARCHITECTURES = ["amd64", "arm64"]

def make_layer(ctx, name, manifest, inputs, compression, sources = []):
    """Declares the action of one layer.

    Args:
      ctx: the rule's context; it has TOOL_ATTRS.
      name: what the layer is called in histories and documents.
      manifest: dict for the tool, as described in layer.py.
      inputs: list of File that the manifest names.
      compression: "gzip" or "none".
      sources: Files with the hashes of what the content was compiled from.
    Returns:
      ImageLayerInfo.
    """
    prefix = ctx.label.name + ".layer"
    manifest_file = ctx.actions.declare_file(prefix + ".manifest.json")
    descriptor = ctx.actions.declare_file(prefix + ".json")
    blob = ctx.actions.declare_file(prefix + ".tar.gz") if compression == "gzip" else None
    ctx.actions.write(manifest_file, json.encode_indent(dict(manifest, name = name, compression = compression)) + "\n")
    outputs = [descriptor] + ([blob] if blob else [])
    ctx.actions.run(
        executable = ctx.executable._image_tool,
        arguments = ["layer", manifest_file.path] + [file.path for file in outputs],
        inputs = inputs + [manifest_file],
        outputs = outputs,
        mnemonic = "TrtmcImageLayer",
        progress_message = "Packing image layer %{label}",
    )
    return ImageLayerInfo(blob = blob, descriptor = descriptor, inputs = depset(inputs), manifest = manifest_file, name = name, sources = sources)

def _returned(layer):
    files = [layer.descriptor] + ([layer.blob] if layer.blob else [])
    return [DefaultInfo(files = depset(files)), layer]

def _path(ctx, path):
    """A path inside an image, without the leading slash."""
    if not path.startswith("/") or path.endswith("/") or "//" in path:
        fail("{}: '{}' is no absolute path inside an image".format(ctx.label, path))
    return path[1:]

def _file_rows(ctx, files, mode):
    rows = []
    for target, path in files.items():
        found = target[DefaultInfo].files.to_list()
        if len(found) != 1:
            fail("{}: {} gives {} files; one is needed for {}".format(ctx.label, target.label, len(found), path))
        rows.append((found[0], _path(ctx, path), mode))
    return rows

def _manifest(ctx, rows):
    return {
        "architecture": ctx.attr.architecture,
        "files": [{"mode": mode, "path": path, "source": file.path} for file, path, mode in rows if not file.is_directory],
        "packages": sorted(ctx.attr.packages),
        "trees": [{"path": path, "source": file.path} for file, path, _ in rows if file.is_directory],
    }

_COMMON = TOOL_ATTRS | {
    "architecture": attr.string(default = "amd64", values = _ARCHITECTURES, doc = "The machine that the layer is for."),
    "packages": attr.string_list(doc = "Package URLs of what is inside, for the image's list of contents; the qualifier `checksum=sha256:…` gives the digest."),
}

def _base_layer_impl(ctx):
    debs = ctx.files.debs
    manifest = {
        "architecture": ctx.attr.architecture,
        "debs": {"files": [file.path for file in debs], "lock": ctx.attr.lock},
        "symlinks": {_path(ctx, path): target for path, target in ctx.attr.symlinks.items()},
    }
    return _returned(make_layer(ctx, ctx.label.name, manifest, debs, "gzip"))

base_layer = rule(
    implementation = _base_layer_impl,
    cfg = layer_transition,
    doc = """The layer under everything: Debian packages, each checked against the lock, unpacked without running their scripts.

It holds dpkg's status file for scanners, one bundle of CA certificates, the users root and nonroot (65532), and what the packages bring; only an image
that says `shell = True` may hold a shell.""",
    provides = [ImageLayerInfo],
    attrs = _COMMON | allowlist_attr | {
        "debs": attr.label_list(mandatory = True, allow_files = [".deb"], doc = "The packages' files."),
        "lock": attr.string_list(mandatory = True, doc = "Lock lines 'sha256 name version arch suite'."),
        "symlinks": attr.string_dict(doc = "Path -> where the link points, for links that the packages' scripts would have made."),
    },
)

def _bazel_layer_impl(ctx):
    debs = ctx.files.debs
    lock = ctx.file.lock
    manifest = {
        "architecture": ctx.attr.architecture,
        "bazel": {
            "files": [file.path for file in debs],
            "lock_file": lock.path,
            "options": ctx.attr.options,
            "prefix": _path(ctx, ctx.attr.prefix),
        },
    }
    return _returned(make_layer(ctx, ctx.label.name, manifest, debs + [lock], "gzip"))

bazel_layer = rule(
    implementation = _bazel_layer_impl,
    cfg = layer_transition,
    doc = """Bazel with its Java runtime in a folder of its own, and /usr/local/bin/bazel: what tools/install-bazel.sh puts on a machine.

The packages are checked against the lock; patchelf, one of them, points the programs at their own C library.""",
    provides = [ImageLayerInfo],
    attrs = _COMMON | allowlist_attr | {
        "debs": attr.label_list(mandatory = True, allow_files = [".deb"], doc = "The packages' files."),
        "lock": attr.label(mandatory = True, allow_single_file = [".lock"], doc = "A file of lock lines 'sha256 name version arch suite'."),
        "options": attr.string_list(doc = "Further lines of the bazelrc, such as `common --color=no`."),
        "prefix": attr.string(default = "/opt/bazel", doc = "The folder."),
    },
)

def _downloads_layer_impl(ctx):
    at = "{}/content_addressable/sha256".format(_path(ctx, ctx.attr.path))
    rows = {}
    for file in ctx.files.files:
        sha256 = ctx.attr.pins.get(file.basename)
        if not sha256:
            fail("{}: no pin for {}. What to do: add it to third_party/deps.toml and run `make lock`".format(ctx.label, file.basename))
        rows["{}/{}/file".format(at, sha256)] = file
    manifest = _manifest(ctx, [(file, path, "0444") for path, file in rows.items()])

    # Whoever builds, Bazel notes in the folders what it used, and puts beside them what it fetches besides.
    folders = [at.removesuffix("/content_addressable/sha256"), at.removesuffix("/sha256"), at] + [path.removesuffix("/file") for path in rows]
    manifest["directories"] = {path: "1777" for path in folders}
    return _returned(make_layer(ctx, ctx.label.name, manifest, rows.values(), "none"))

downloads_layer = rule(
    implementation = _downloads_layer_impl,
    cfg = layer_transition,
    doc = """Pinned files laid out as Bazel's repository cache: with `--repository_cache=PATH` a build finds them and asks no network.

They are packed already, so the layer is a plain tar.""",
    provides = [ImageLayerInfo],
    attrs = _COMMON | allowlist_attr | {
        "files": attr.label_list(mandatory = True, allow_files = True, doc = "The files."),
        "path": attr.string(default = "/opt/trtmc/downloads", doc = "The cache's folder."),
        "pins": attr.string_dict(mandatory = True, doc = "File name -> SHA-256."),
    },
)

def _image_layer_impl(ctx):
    rows = _file_rows(ctx, ctx.attr.files, ctx.attr.mode) + _file_rows(ctx, ctx.attr.programs, "0755")
    manifest = _manifest(ctx, rows) | {
        "directories": {_path(ctx, path): mode for path, mode in ctx.attr.directories.items()},
        "removed": [_path(ctx, path) for path in ctx.attr.removed],
        "symlinks": {_path(ctx, path): target for path, target in ctx.attr.symlinks.items()},
    }
    return _returned(make_layer(ctx, ctx.label.name, manifest, [file for file, _, _ in rows], ctx.attr.compression))

image_layer = rule(
    implementation = _image_layer_impl,
    doc = """A layer of files of your choice.

```
image_layer(name = "settings", files = {":app.json": "/etc/app.json"}, symlinks = {"/app.json": "/etc/app.json"}, removed = ["/etc/old.json"])
```""",
    provides = [ImageLayerInfo],
    attrs = _COMMON | {
        "compression": attr.string(default = "gzip", values = ["gzip", "none"], doc = "`none` for what is big and does not shrink."),
        "directories": attr.string_dict(doc = "Path -> mode (octal) of folders; those above files need no mention."),
        "files": attr.label_keyed_string_dict(allow_files = True, doc = "File, or folder made by an action -> where it lies."),
        "mode": attr.string(default = "0644", doc = "Mode (octal) of `files`."),
        "programs": attr.label_keyed_string_dict(allow_files = True, doc = "As `files`, with mode 0755."),
        "removed": attr.string_list(doc = "Paths of lower layers that are gone from here on."),
        "symlinks": attr.string_dict(doc = "Path -> where the link points; stored as it is, never followed."),
    },
)

def _bundle_layer_impl(ctx):
    info = ctx.attr.bundle[BundleInfo]
    path = "bundles/{}.bundle".format(ctx.attr.bundle_name or info.family.name)
    layer = make_layer(ctx, "bundle", _manifest(ctx, [(info.bundle, path, "0644")]), [info.bundle], "none")
    return _returned(layer) + [BundleInfo(bundle = info.bundle, family = info.family, targets = info.targets)]

bundle_layer = rule(
    implementation = _bundle_layer_impl,
    doc = "A bundle as a layer: /bundles/FAMILY.bundle. Weights hardly shrink, so it is stored as a plain tar: one hashing, one write.",
    provides = [ImageLayerInfo, BundleInfo],
    attrs = _COMMON | {
        "bundle": attr.label(mandatory = True, providers = [BundleInfo], doc = "The bundle."),
        "bundle_name": attr.string(doc = "File name without `.bundle`; by default the family's name."),
    },
)

def _runtime_layer_impl(ctx):
    info = ctx.attr.runtime_root[RuntimeRootInfo]
    if ctx.attr.part == "backend":
        rows = [(file, "opt/trtmc/lib/trtmc/" + file.basename, "0644") for file in info.backends.to_list()]
    else:
        rows = [(info.program, "opt/trtmc/bin/" + info.program.basename, "0755")]
        rows += [(file, "opt/trtmc/lib/trtmc/" + file.basename, "0644") for file in info.models.values()]
    listing = ctx.actions.declare_file(ctx.label.name + ".sources.txt")
    hashes = ctx.actions.declare_file(ctx.label.name + ".sources.json")
    found = ctx.attr.runtime_root[SourcesInfo].files
    ctx.actions.write(listing, ctx.actions.args().add_all(found))
    ctx.actions.run(
        executable = ctx.executable._image_tool,
        arguments = ["sources", listing.path, hashes.path],
        inputs = depset([listing], transitive = [found]),
        outputs = [hashes],
        mnemonic = "TrtmcSources",
        progress_message = "Hashing the sources of %{label}",
    )
    layer = make_layer(ctx, ctx.attr.part, _manifest(ctx, rows), [file for file, _, _ in rows], "gzip", sources = [hashes])
    backends = [file.basename for file in info.backends.to_list()]
    return _returned(layer) + [RuntimePartInfo(backends = backends)]

RuntimePartInfo = provider(
    doc = "What a layer of a runtime root has, so that an image can say what it lacks.",
    fields = {"backends": "list of strings: names of the runtime root's backend libraries."},
)

runtime_layer = rule(
    implementation = _runtime_layer_impl,
    cfg = layer_transition,
    doc = "One part of a runtime root as a layer under /opt/trtmc: `backend` with the libraries that it loads, or `runtime` (program and model DSOs).",
    provides = [ImageLayerInfo, RuntimePartInfo],
    attrs = _COMMON | allowlist_attr | {
        "part": attr.string(mandatory = True, values = ["backend", "runtime"], doc = "Which part."),
        "runtime_root": attr.label(mandatory = True, providers = [RuntimeRootInfo], aspects = [source_files], doc = "The runtime."),
    },
)
