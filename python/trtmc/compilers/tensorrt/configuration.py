"""The builder's configuration: which GPUs an engine is for, and one optimization profile for each use of the network.

Knows nothing about networks but their declared inputs and profiles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trtmc.core.contract import Contract, Profile, TensorSpec
from trtmc.core.errors import InternalError, Unsupported
from trtmc.core.profiles import profile_shapes
from trtmc.core.target import TargetInfo
from trtmc.ops.lowering.api import trt


def builder_config(builder: Any, contract: Contract, target: TargetInfo) -> Any:
    """An IBuilderConfig for `target` with the contract's profiles, in the contract's order."""
    config = builder.create_builder_config()
    set_target(config, target)
    for profile in contract.profiles:
        add_profile(builder, config, contract.inputs, profile)
    return config


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


def add_profile(builder: Any, config: Any, inputs: Iterable[TensorSpec], profile: Profile) -> None:
    """One optimization profile from the declared shapes of the inputs."""
    native = builder.create_optimization_profile()
    for name, (least, best, most) in profile_shapes(inputs, profile).items():
        native.set_shape(name, least, best, most)
    if config.add_optimization_profile(native) < 0:
        raise InternalError("compiler.profile", f"TensorRT refused the optimization profile '{profile.name}'")
