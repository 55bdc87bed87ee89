"""family_manifests: the one line by which a family's manifests become tests of the whole product.

    load("//python/trtmc/e2e:defs.bzl", "family_manifests")

    family_manifests(family = "//families/llama", checkpoints = {"smollm2_135m_instruct": "@smollm2//:checkpoint"})
"""

load("//bazel/testing:defs.bzl", "trtmc_py_test")

_SUITE = "//python/trtmc/e2e:family_conformance_test.py"
_RUNTIME_ROOT = "//cc:runtime_root"

def family_conformance_test(name, family, manifest, golden, checkpoint = None, runtime = True, **kwargs):
    """Builds the manifest's bundles in every precision and holds them to the oracle and to themselves.

    Greedy ids and logits against the golden file; a prompt in one go, id by id and in chunks; a second turn that reuses
    the cache; reset; reload; batches; the same bytes from two builds.

    Args:
      name: target name.
      family: the family under test.
      manifest: the E2E manifest (TOML).
      golden: the golden file that the manifest names.
      checkpoint: the checkpoint target, for manifests whose checkpoint is not generated.
      runtime: whether the C++ runtime answers too, beside the Python reference session.
      **kwargs: passed to trtmc_py_test.
    """
    env = {"TRTMC_E2E_MANIFEST": "$(rootpath {})".format(manifest)}
    data = [manifest, golden]
    deps = [family, "//python/trtmc/e2e"]
    if checkpoint:
        env["TRTMC_E2E_CHECKPOINT"] = "$(rootpath {})".format(checkpoint)
        data.append(checkpoint)
    if runtime:
        env["TRTMC_RUNTIME_ROOT"] = "$(rootpaths {})".format(_RUNTIME_ROOT)
        data.append(_RUNTIME_ROOT)
        deps.append("//cc/python:runtime")
    trtmc_py_test(
        name = name,
        srcs = [_SUITE],
        data = data,
        env = env,
        tier = "cpu",
        deps = deps,
        **kwargs
    )

def family_manifests(family, checkpoints = {}):
    """Every `*.toml` of the package, with `goldens/*.json` beside it, as a conformance test of its name.

    Derived target: `:manifests`, all of those files, for tests that look at the manifests of all families.

    Args:
      family: the family under test.
      checkpoints: manifest name -> checkpoint target, for manifests whose checkpoint is not generated; their tests are large.
    """
    files = native.glob(["*.toml", "goldens/*.json"])
    native.exports_files(files, visibility = ["//visibility:public"])
    native.filegroup(name = "manifests", srcs = files, visibility = ["//visibility:public"])
    names = [path.removesuffix(".toml") for path in native.glob(["*.toml"])]
    for name in checkpoints:
        if name not in names:
            fail("family_manifests: there is no manifest {}.toml; there are {}".format(name, ", ".join(names)))
    for name in names:
        family_conformance_test(
            name = name,
            size = "large" if name in checkpoints else None,
            checkpoint = checkpoints.get(name),
            family = family,
            golden = "goldens/{}.json".format(name),
            manifest = name + ".toml",
        )
