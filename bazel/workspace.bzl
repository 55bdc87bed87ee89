"""What WORKSPACE needs, for a build without bzlmod (--config=workspace). bazel/extensions.bzl offers the same to MODULE.bazel."""

load("@bazel_tools//tools/build_defs/repo:local.bzl", "local_repository")
load("//bazel/private/repos:checkpoints.bzl", _hub_checkpoint = "hub_checkpoint", _local_checkpoint = "local_checkpoint", _wheel_checkpoint = "wheel_checkpoint")
load("//bazel/private/repos:host_cc.bzl", "host_cc")
load("//bazel/private/repos:host_python.bzl", "host_python")
load("//bazel/private/repos:tensorrt_headers.bzl", "tensorrt_headers")
load("//bazel/private/repos:third_party.bzl", "pinned_repositories")

# Where tools/install-bazel.sh put the rule sets.
_SHARE = "/opt/bazel/usr/share/bazel/"

_RULE_SETS = {
    "bazel_features": "tools/features",
    "bazel_skylib": "tools/skylib",
    "rules_cc": "rules/cc",
    "rules_java": "rules/java",
    "rules_license": "rules/license",
    "rules_proto": "rules/proto",
    "rules_python": "rules/python",
}

def rule_sets():
    """The rule sets that come with the installed Bazel."""
    for name, path in _RULE_SETS.items():
        local_repository(name = name, path = _SHARE + path)

def host():
    """@host_cc, @host_python and @tensorrt_headers."""
    host_cc(name = "host_cc")
    host_python(name = "host_python")
    tensorrt_headers(name = "tensorrt_headers")

def pinned():
    """@pypi, @debs and @cuda."""
    pinned_repositories()

hub_checkpoint = _hub_checkpoint
local_checkpoint = _local_checkpoint
wheel_checkpoint = _wheel_checkpoint
