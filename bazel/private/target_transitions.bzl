"""How images of all targets share what does not depend on the target.

`images` builds each image for its own platform and remembers the platform that the command line named (//bazel/targets:outer_platform). A layer that depends on
nothing of the target goes back to that one, so it is built once and at the same paths as without `images`; one that depends on the compiler alone goes to
one platform per compiler. Nothing changes where no `images` is above.
"""

load("//bazel/targets:table.bzl", "TARGETS")

_PLATFORMS = "//command_line_option:platforms"
_OUTER = "//bazel/targets:outer_platform"

allowlist_attr = {
    "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
}

def compiler_of(platform):
    """The compiler of a platform's target, or None.

    Args:
      platform: Label or string.
    Returns:
      a name of table.bzl's COMPILERS, or None for a platform that is no target.
    """
    target = TARGETS.get(str(platform).rpartition(":")[2])
    return target.compiler if target else None

def representative(compiler):
    """The target that stands for all of one compiler: the first by name.

    Args:
      compiler: a name of table.bzl's COMPILERS.
    Returns:
      a target's name.
    """
    return sorted([name for name, target in TARGETS.items() if target.compiler == compiler])[0]

def layer_platform(current, outer, depends_on):
    """The platform that a layer is built for.

    Args:
      current: the platform above.
      outer: the platform of the command line, or "" if no `images` is above.
      depends_on: "nothing" or "compiler".
    Returns:
      a platform.
    """
    if not outer or (depends_on == "compiler" and compiler_of(current) != compiler_of(outer)):
        return "//bazel/targets:" + representative(compiler_of(current)) if outer else str(current)
    return outer

def _layer_impl(settings, attr):
    current, outer = settings[_PLATFORMS], settings[_OUTER]
    return {
        _OUTER: "",
        _PLATFORMS: [layer_platform(current[0], outer, attr.depends_on)] if current else [],
    }

layer_transition = transition(
    implementation = _layer_impl,
    inputs = [_PLATFORMS, _OUTER],
    outputs = [_PLATFORMS, _OUTER],
)

def _targets_impl(settings, attr):
    outer = settings[_OUTER] or str(settings[_PLATFORMS][0])
    return {name: {_OUTER: outer, _PLATFORMS: ["//bazel/targets:" + name]} for name in attr.targets}

targets_transition = transition(
    implementation = _targets_impl,
    inputs = [_PLATFORMS, _OUTER],
    outputs = [_PLATFORMS, _OUTER],
)
