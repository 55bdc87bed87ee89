"""@tensorrt_headers: TensorRT's C++ headers, where this machine has them.

They are NVIDIA's and no part of this repository. In this order they come from

1. an archive given by hash: TENSORRT_ARCHIVE (a path or URL of a .tar.gz, .tar.xz or .zip) and TENSORRT_ARCHIVE_SHA256, such as a release archive of the
   public repository NVIDIA/TensorRT or an SDK;
2. TENSORRT_HOME: an SDK's folder, or a checkout of that repository;
3. the system's include folder, as Debian's packages fill it.

Where there are none, everything that needs them is incompatible with every platform and skipped, and `TENSORRT.available` in defs.bzl is False. The headers'
content is copied, so that actions are keyed by it and not by a place.
"""

_DEBIAN = "/usr/include/x86_64-linux-gnu"
_NEEDED = "NvInferRuntime.h"

_BUILD = """\
load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
)
"""

# No platform has this constraint; Bazel's message names it.
_MISSING_BUILD = """\
package(default_visibility = ["//visibility:public"])

constraint_setting(name = "tensorrt_headers")

constraint_value(
    name = "needs_TensorRT_headers_set_TENSORRT_HOME",
    constraint_setting = ":tensorrt_headers",
)

cc_library(
    name = "headers",
    target_compatible_with = [":needs_TensorRT_headers_set_TENSORRT_HOME"],
)
"""

def header_version(text):
    """The version that NvInferVersion.h states.

    Args:
      text: the header's content.
    Returns:
      struct(product, major, minor, patch), or None if the text states none.
    """
    numbers = {}
    for line in text.split("\n"):
        words = [word for word in line.split(" ") if word]
        if len(words) >= 3 and words[0] == "#define" and words[2].isdigit():
            numbers[words[1]] = int(words[2])
    for product, suffix in {"TensorRT-RTX": "_RTX", "TensorRT": "_ENTERPRISE"}.items():
        keys = ["TRT_MAJOR" + suffix, "TRT_MINOR" + suffix, "TRT_PATCH" + suffix]
        if all([key in numbers for key in keys]):
            return struct(product = product, major = numbers[keys[0]], minor = numbers[keys[1]], patch = numbers[keys[2]])
    keys = ["NV_TENSORRT_MAJOR", "NV_TENSORRT_MINOR", "NV_TENSORRT_PATCH"]
    if all([key in numbers for key in keys]):
        return struct(product = "TensorRT", major = numbers[keys[0]], minor = numbers[keys[1]], patch = numbers[keys[2]])
    return None

def version_problem(version):
    """Why headers of that version cannot be used, or "".

    Args:
      version: what header_version gave.
    Returns:
      a sentence.
    """
    wanted = "this backend is written for TensorRT 11 and TensorRT-RTX 1"
    if not version:
        return "NvInferVersion.h states no version; " + wanted
    if version.major == (1 if version.product == "TensorRT-RTX" else 11):
        return ""
    return "they are of {} {}.{}.{}; {}".format(version.product, version.major, version.minor, version.patch, wanted)

def _from_archive(rctx):
    archive, sha256 = rctx.getenv("TENSORRT_ARCHIVE"), rctx.getenv("TENSORRT_ARCHIVE_SHA256")
    if not archive:
        return None
    if not sha256:
        fail("TENSORRT_ARCHIVE is set, but not TENSORRT_ARCHIVE_SHA256. What to do: set it to the archive's SHA-256 (sha256sum {})".format(archive))
    rctx.download_and_extract(url = archive if "://" in archive else "file://" + archive, output = "archive", sha256 = sha256)
    found = rctx.execute(["/bin/sh", "-c", "find archive -name {} | sort | head -1".format(_NEEDED)]).stdout.strip()
    if not found:
        fail("TENSORRT_ARCHIVE {} holds no {}".format(archive, _NEEDED))
    return rctx.path(found).dirname

def _from_home(rctx):
    home = rctx.getenv("TENSORRT_HOME")
    if not home:
        return None
    for place in [home + "/include", home + "/include/x86_64-linux-gnu", home]:
        if rctx.path(place + "/" + _NEEDED).exists:
            return rctx.path(place)
    fail("TENSORRT_HOME is {}, but there is no {} in it or in its include folder. What to do: set it to TensorRT's folder, or unset it".format(home, _NEEDED))

def _from_system(rctx):
    return rctx.path(_DEBIAN) if rctx.path(_DEBIAN + "/" + _NEEDED).exists else None

def _impl(rctx):
    folder = _from_archive(rctx) or _from_home(rctx) or _from_system(rctx)
    rctx.file("WORKSPACE", "")
    if not folder:
        rctx.file("BUILD.bazel", _MISSING_BUILD)
        rctx.file("defs.bzl", '"""Generated."""\n\nTENSORRT = struct(available = False, compatible_with = [str(Label("//:needs_TensorRT_headers_set_TENSORRT_HOME"))], version = None)\n')
        return
    for entry in folder.readdir():
        if entry.basename.startswith("Nv") and entry.basename.endswith(".h"):
            rctx.file("include/" + entry.basename, rctx.read(entry))
    impl = folder.get_child("impl")
    for entry in impl.readdir() if impl.exists else []:
        if entry.basename.endswith(".h"):
            rctx.file("include/impl/" + entry.basename, rctx.read(entry))
    version = header_version(rctx.read("include/NvInferVersion.h"))
    problem = version_problem(version)
    if problem:
        fail("the TensorRT headers in {} cannot be used: {}. What to do: set TENSORRT_HOME to another release".format(folder, problem))
    rctx.delete("archive")
    rctx.file("BUILD.bazel", _BUILD)
    rctx.file("defs.bzl", '"""Generated."""\n\nTENSORRT = struct(available = True, compatible_with = [], version = "{} {}.{}.{}")\n'.format(version.product, version.major, version.minor, version.patch))

tensorrt_headers = repository_rule(
    implementation = _impl,
    configure = True,
    doc = "TensorRT's headers as `:headers`, and `TENSORRT` in defs.bzl: whether they are there.",
    environ = ["TENSORRT_ARCHIVE", "TENSORRT_ARCHIVE_SHA256", "TENSORRT_HOME"],
    local = True,
)
