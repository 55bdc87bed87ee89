"""@host_python: the machine's Python as a toolchain (`:toolchain`) and its C headers (`:headers`).

Programs of the build run in a bare virtual environment of that interpreter, so that what happens to be installed on the machine is not seen. The
runtime carries a fingerprint of the interpreter's content (program, library, standard library): action keys change with Python itself, and not only
with its path, so machines that differ never share cache entries.

`HOST_PYTHON=/path/to/python3.x bazel ...` chooses another interpreter than the `python3` of $PATH.
"""

SUPPORTED = ["3.11", "3.12", "3.13"]

_BUILD = """\
load("@rules_python//python:defs.bzl", "py_runtime", "py_runtime_pair")

package(default_visibility = ["//visibility:public"])

exports_files(["python.json"])

py_runtime(
    name = "runtime",
    files = ["pyvenv.cfg", "fingerprint.json"],
    interpreter = "bin/python3",
    python_version = "PY3",
    stub_shebang = "#!{program}",
)

py_runtime_pair(name = "pair", py3_runtime = ":runtime")

toolchain(
    name = "toolchain",
    toolchain = ":pair",
    toolchain_type = "@bazel_tools//tools/python:toolchain_type",
)

cc_library(
    name = "headers",
    hdrs = glob(["include/**"]),
    includes = ["include"],
)
"""

def _impl(rctx):
    asked = rctx.os.environ.get("HOST_PYTHON", "")
    start = asked or rctx.which("python3")
    if not start:
        fail("no `python3` in $PATH. What to do: install it (Debian: apt-get install python3 python3-dev python3-pip), or set HOST_PYTHON")
    script = rctx.path(rctx.attr._describe)
    rctx.watch(script)
    done = rctx.execute([start, "-I", "-B", script])
    if done.return_code != 0:
        fail("{} cannot describe itself:\n{}".format(start, done.stderr))
    python = json.decode(done.stdout)
    if python["version"] not in SUPPORTED:
        fail("{} is Python {}; the locked wheels are for {}. What to do: set HOST_PYTHON to one of those".format(start, python["version"], ", ".join(SUPPORTED)))
    rctx.watch(python["program"])
    include = rctx.path(python["include"])
    if not include.get_child("Python.h").exists:
        fail("{} has no C headers in {}. What to do: install them (Debian: apt-get install python3-dev)".format(python["program"], include))
    rctx.symlink(include, "include")
    rctx.symlink(python["program"], "bin/python3")
    rctx.file("pyvenv.cfg", "home = {}\ninclude-system-site-packages = false\nversion = {}\n".format(rctx.path(python["program"]).dirname, python["full_version"]))
    rctx.file("fingerprint.json", json.encode_indent(python["fingerprint"]) + "\n")
    rctx.file("python.json", json.encode_indent({"program": python["program"], "version": python["version"]}) + "\n")
    rctx.file("BUILD.bazel", _BUILD.format(program = python["program"]))
    rctx.file("WORKSPACE", "")

host_python = repository_rule(
    implementation = _impl,
    attrs = {"_describe": attr.label(default = "//bazel/private/repos:describe_python.py", allow_single_file = True)},
    configure = True,
    doc = "Finds the machine's Python and fingerprints it.",
    environ = ["HOST_PYTHON", "PATH"],
)

def python_of(rctx, label):
    """The host Python that @host_python found, as a struct(program, version).

    Args:
      rctx: the repository context.
      label: Label of @host_python//:python.json.
    Returns:
      struct with `program`, an absolute path, and `version`, such as "3.11".
    """
    found = json.decode(rctx.read(rctx.path(label)))
    return struct(program = found["program"], version = found["version"])
