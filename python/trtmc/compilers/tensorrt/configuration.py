"""What every engine is told before it is built: which GPUs it is for, and that its inputs and outputs are row-major."""

from __future__ import annotations

from typing import Any

from trtmc.core.errors import Unsupported
from trtmc.core.target import TargetInfo
from trtmc.ops.lowering.api import trt


def set_target(config: Any, target: TargetInfo) -> None:
    """Sets the compute capability; without any TensorRT-RTX builds for all that it calls portable.

    Enterprise TensorRT builds for the GPU at hand and has no such setting.
    """
    if target.compiler != "tensorrt_rtx" or target.compute_capability is None:
        return
    name = f"SM{target.compute_capability.replace('.', '')}"
    known = trt.ComputeCapability.__members__
    if name not in known:
        raise Unsupported(
            "compiler.target",
            f"{target.compiler} {target.compiler_version} cannot compile for compute capability "
            f"{target.compute_capability} (target {target.name}); it has {', '.join(sorted(known))}",
        )
    config.num_compute_capabilities = 1
    config.set_compute_capability(known[name], 0)


def fix_layouts(network: Any) -> None:
    """Inputs and outputs are row-major arrays, as contracts describe them; TensorRT may not choose another form."""
    for count, get in ((network.num_inputs, network.get_input), (network.num_outputs, network.get_output)):
        for index in range(count):
            get(index).allowed_formats = 1 << int(trt.TensorFormat.LINEAR)
