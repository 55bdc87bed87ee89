"""What does not depend on the GPU target is configured once, whatever target is being built.

Checkpoints are read by actions alone, so engines take them in the exec configuration, which is the same for all targets. C++ runs on the CPU of the target:
`cpu_of_target` configures it for the CPU target, so that model DSOs are not compiled once more for each GPU.
"""

load("//bazel/targets:table.bzl", "DEFAULT_TARGET")

def _impl(_settings, _attr):
    return {"//command_line_option:platforms": ["//bazel/targets:" + DEFAULT_TARGET]}

cpu_of_target = transition(
    implementation = _impl,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)
