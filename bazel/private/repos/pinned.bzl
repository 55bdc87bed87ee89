"""Repositories of pinned third-party files: one per wheel, per source archive, per group of Debian packages; and the two hubs that name them.

`@pypi//:numpy` is the Python library of a wheel, `@debs//:cli11` the main target of a group. Only //third_party reads these.
"""

load(":host_python.bzl", "python_of")
load(":obtain.bzl", "FETCH_ATTRS", "obtain_debs", "obtain_python_package")

_WHEEL_BUILD = """\
load("@rules_python//python:defs.bzl", "py_library")

package(default_visibility = ["//visibility:public"])

# What only a developer of the package reads stays out of every test's runfiles.
_UNUSED = ["**/tests/**", "**/test/**", "**/*.pyi", "**/*.pxd", "**/*.pyc", "**/* *", "**/include/**", "**/cmake/**", "**/*.dist-info/RECORD", "**/*.dist-info/licenses/**", "BUILD.bazel", "WORKSPACE"]

py_library(
    name = "lib",
    srcs = glob(["**/*.py"], allow_empty = True, exclude = _UNUSED + {kept_exclude}),
    data = glob(["**/*"], allow_empty = True, exclude = _UNUSED + ["**/*.py"] + {kept_exclude}),
    imports = ["."],
    deps = {deps},
)

filegroup(
    name = "files",
    srcs = glob(["**/*"], exclude = ["**/* *", "BUILD.bazel", "WORKSPACE"]),
)

{more}
"""

def pick_wheel(files, python):
    """The [file, sha256] that fits a Python version.

    Args:
      files: dict of "any" or a Python version -> [file, sha256].
      python: such as "3.11".
    Returns:
      the pair, or None.
    """
    return files.get(python) or files.get("any")

def _wheel_impl(rctx):
    python = python_of(rctx, rctx.attr._python)
    files = json.decode(rctx.attr.files)
    picked = pick_wheel(files, python.version)
    if not picked:
        fail("{}=={} is locked for Python {}, but @host_python is {}. What to do: set HOST_PYTHON, or add the version to third_party/deps.toml and run `make lock`".format(
            rctx.attr.package,
            rctx.attr.version,
            ", ".join(files.keys()),
            python.version,
        ))
    file, sha256 = picked
    obtain_python_package(rctx, "wheel", rctx.attr.package, rctx.attr.version, file, sha256, file)
    rctx.symlink(file, file + ".zip")
    rctx.extract(file + ".zip")
    rctx.delete(file + ".zip")
    rctx.delete(file)
    rctx.file("BUILD.bazel", _WHEEL_BUILD.format(
        deps = repr(["@wheel_{}//:lib".format(dep.replace("-", "_")) for dep in rctx.attr.deps]),
        kept_exclude = repr(rctx.attr.exclude),
        more = rctx.read(rctx.attr.more) if rctx.attr.more else "",
    ))
    rctx.file("WORKSPACE", "")

wheel = repository_rule(
    implementation = _wheel_impl,
    doc = "One wheel, unpacked, as a Python library `:lib` and as plain `:files`.",
    attrs = FETCH_ATTRS | {
        "deps": attr.string_list(doc = "Names of the packages that it imports."),
        "exclude": attr.string_list(doc = "Further globs that stay out of the Python library."),
        "files": attr.string(mandatory = True, doc = "JSON: Python version, or 'any' -> [file name, SHA-256]."),
        "more": attr.label(allow_single_file = True, doc = "Text to append to the BUILD file."),
        "package": attr.string(mandatory = True, doc = "Name on the index."),
        "version": attr.string(mandatory = True, doc = "Exact version."),
    },
)

def _sdist_impl(rctx):
    obtain_python_package(rctx, "sdist", rctx.attr.package, rctx.attr.version, rctx.attr.file, rctx.attr.sha256, rctx.attr.file)
    rctx.file("BUILD.bazel", 'filegroup(name = "archive", srcs = ["{}"], visibility = ["//visibility:public"])\n'.format(rctx.attr.file))
    rctx.file("WORKSPACE", "")

sdist = repository_rule(
    implementation = _sdist_impl,
    doc = "One source archive, left packed, as `:archive`.",
    attrs = FETCH_ATTRS | {
        "file": attr.string(mandatory = True, doc = "The archive's name."),
        "package": attr.string(mandatory = True, doc = "Name on the index."),
        "sha256": attr.string(mandatory = True, doc = "The archive's SHA-256."),
        "version": attr.string(mandatory = True, doc = "Exact version."),
    },
)

def _deb_group_impl(rctx):
    paths = obtain_debs(rctx, rctx.attr.lock, "debs")
    words = []
    for path in paths:
        words += [str(rctx.path(path))]
    done = rctx.execute(["/bin/sh", "-c", 'set -e; for deb in "$@"; do dpkg-deb --fsys-tarfile "$deb" | tar -xf - --exclude=./usr/share/doc --exclude=./usr/share/man --exclude=./usr/share/lintian --exclude=./usr/share/locale; done', "sh"] + words)
    if done.return_code != 0:
        fail("cannot unpack the Debian packages of {}:\n{}".format(rctx.name, done.stderr))
    rctx.delete("debs")
    rctx.symlink(rctx.attr.build_file, "BUILD.bazel")
    rctx.file("WORKSPACE", "")

deb_group = repository_rule(
    implementation = _deb_group_impl,
    doc = "A group of Debian packages, unpacked into one tree, with a BUILD file of ours.",
    attrs = FETCH_ATTRS | {
        "build_file": attr.label(mandatory = True, allow_single_file = True, doc = "The repository's BUILD file."),
        "lock": attr.string_list(mandatory = True, doc = "Lock lines 'sha256 name version arch suite'."),
    },
)

def _packed_debs_impl(rctx):
    lock = list(rctx.attr.lock)
    if rctx.attr.lock_file:
        lock += [line for line in rctx.read(rctx.attr.lock_file).split("\n") if line]
    paths = obtain_debs(rctx, lock, "debs")
    rctx.file("BUILD.bazel", 'filegroup(name = "{}", srcs = {}, visibility = ["//visibility:public"])\n'.format(rctx.attr.group, repr(sorted(paths))))
    rctx.file("WORKSPACE", "")

packed_debs = repository_rule(
    implementation = _packed_debs_impl,
    doc = "A group of Debian packages, left packed.",
    attrs = FETCH_ATTRS | {
        "group": attr.string(mandatory = True, doc = "Name of the target that gives the files."),
        "lock": attr.string_list(doc = "Lock lines 'sha256 name version arch suite'."),
        "lock_file": attr.label(allow_single_file = True, doc = "A file of further lock lines."),
    },
)

def _downloads_impl(rctx):
    paths = list(obtain_debs(rctx, rctx.attr.debs, "debs"))
    for kind, pins in {"sdist": rctx.attr.sdists, "wheel": rctx.attr.wheels}.items():
        for name, pin in json.decode(pins).items():
            path = "{}s/{}".format(kind, pin["file"])
            obtain_python_package(rctx, kind, name, pin["version"], pin["file"], pin["sha256"], path, for_python = rctx.attr.python)
            paths.append(path)
    rctx.file("BUILD.bazel", 'filegroup(name = "files", srcs = {}, visibility = ["//visibility:public"])\n'.format(repr(sorted(paths))))
    rctx.file("WORKSPACE", "")

downloads = repository_rule(
    implementation = _downloads_impl,
    doc = "Pinned files as they were fetched, for one version of Python, whatever the host's is.",
    attrs = FETCH_ATTRS | {
        "debs": attr.string_list(doc = "Lock lines 'sha256 name version arch suite'."),
        "python": attr.string(mandatory = True, doc = "Such as \"3.11\"."),
        "sdists": attr.string(default = "{}", doc = "JSON: name -> version, file, SHA-256."),
        "wheels": attr.string(default = "{}", doc = "JSON: name -> version, file, SHA-256."),
    },
)

def _hub_impl(rctx):
    lines = ['package(default_visibility = ["//visibility:public"])\n']
    lines += ['alias(name = "{}", actual = "{}")\n'.format(name, actual) for name, actual in sorted(rctx.attr.names.items())]
    rctx.file("BUILD.bazel", "\n".join(lines))
    rctx.file("WORKSPACE", "")

hub = repository_rule(
    implementation = _hub_impl,
    doc = "Short names for targets of other repositories.",
    attrs = {"names": attr.string_dict(mandatory = True, doc = "Name -> label.")},
)
