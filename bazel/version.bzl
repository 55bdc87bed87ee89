"""The version of this tree, as labels and tags of images carry it. python/trtmc/core/version.py, MODULE.bazel and `trtmc --version` say the same; a test holds them together."""

VERSION = "0.1.0"
