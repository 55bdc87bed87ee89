"""How images of all targets share what does not depend on the target.

`images` builds each image for its own platform and remembers the platform that the command line named (//bazel/targets:outer_platform). Layers of base system and
runtime go back to that one, so they are built once, and at the same paths as without `images`. Nothing changes where no `images` is above.
"""

_PLATFORMS = "//command_line_option:platforms"
_OUTER = "//bazel/targets:outer_platform"

allowlist_attr = {
    "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
}

def layer_platforms(current, outer):
    """The platforms that a layer is built for.

    Args:
      current: list of the platforms above.
      outer: the platform of the command line, or "" if no `images` is above.
    Returns:
      list of strings.
    """
    return [outer] if outer else [str(platform) for platform in current]

def _layer_impl(settings, _attr):
    return {_OUTER: "", _PLATFORMS: layer_platforms(settings[_PLATFORMS], settings[_OUTER])}

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
