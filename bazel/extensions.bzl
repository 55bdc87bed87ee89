"""Module extensions for MODULE.bazel. bazel/workspace.bzl offers the same to WORKSPACE."""

load("//bazel/private/repos:host_cc.bzl", "host_cc")
load("//bazel/private/repos:host_python.bzl", "host_python")
load("//bazel/private/repos:third_party.bzl", "pinned_repositories")

def _host_impl(_mctx):
    host_cc(name = "host_cc")
    host_python(name = "host_python")

host = module_extension(
    implementation = _host_impl,
    doc = "@host_cc and @host_python: the machine's compiler and Python, keyed by their content.",
)

def _pinned_impl(_mctx):
    pinned_repositories()

pinned = module_extension(
    implementation = _pinned_impl,
    doc = "@pypi and @debs: third-party files pinned in //third_party.",
)
