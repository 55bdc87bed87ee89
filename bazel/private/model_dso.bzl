"""model_dso: a family's runtime plugin as the DSO that the runtime loads. It knows no family."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library")

def model_dso(name, srcs, deps = [], hdrs = []):
    """One model DSO, with one exported symbol and nothing undefined.

    Derived target: `:FAMILY_plugin`, the same code as a library, for tests.

    Args:
      name: "libtrtmc_model_FAMILY.so", the name that the runtime looks for.
      srcs: the plugin, which calls TRTMC_EXPORT_MODEL once, and the family's other sources.
      deps: what they use, mostly of //cc/decoder; the public headers are added.
      hdrs: headers of the family's own.
    """
    prefix = "libtrtmc_model_"
    if not name.startswith(prefix) or not name.endswith(".so"):
        fail("model_dso: the name must be {}FAMILY.so, found {}".format(prefix, name))
    plugin = name[len(prefix):-len(".so")] + "_plugin"
    cc_library(
        name = plugin,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps + ["//cc/include/trtmc"],
        alwayslink = True,
    )
    cc_binary(
        name = name,
        linkopts = [
            # Without it the linker writes the path of the output, which is another one for each configuration.
            "-Wl,-soname," + name,
            "-Wl,--version-script=$(location //cc/runtime:model_dso.lds)",
            "-Wl,-z,defs",
        ],
        linkshared = True,
        deps = [
            ":" + plugin,
            "//cc/runtime:model_dso.lds",
        ],
    )
