"""Machines that can do what the building machine may be unable to: one execution platform for each GPU that an engine compiler must have before it.

For target `sm_90`: constraint value `//bazel/workers:sm_90_gpu` ("has this GPU") and platform `//bazel/workers:sm_90`, whose properties every action that runs there
carries to the scheduler. They are registered after the building machine (MODULE.bazel, WORKSPACE), so that only actions that ask for a GPU get them.
"""

load("//bazel/targets:table.bzl", "COMPILERS", "TARGETS")

def gpu_targets():
    """Names of the targets whose engines are compiled on their own GPU, sorted."""
    return sorted([name for name, target in TARGETS.items() if COMPILERS[target.compiler].needs_gpu])

def worker_properties(name):
    """What a scheduler is asked for; docs/ci.md says how to give a worker these properties.

    Args:
      name: the target whose GPU is needed.
    Returns:
      a dict of strings. A platform's own properties replace those of --remote_default_exec_properties, so OSFamily is said again.
    """
    return {"OSFamily": TARGETS[name].os, "gpu": name}

def declare_workers():
    """Declares a constraint value and a platform for each of them."""
    native.constraint_setting(name = "gpu")
    for name in gpu_targets():
        native.constraint_value(name = name + "_gpu", constraint_setting = ":gpu")
        native.platform(
            name = name,
            constraint_values = [
                ":" + name + "_gpu",
                "@platforms//cpu:" + TARGETS[name].arch,
                "@platforms//os:" + TARGETS[name].os,
            ],
            exec_properties = worker_properties(name),
        )
