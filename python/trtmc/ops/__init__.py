"""Symbolic tensors, modules and free functions that define a network; `lowering` turns them into TensorRT layers.

from trtmc.ops import InputSpec, Module, NetworkModule, Parameter, Tensor
from trtmc.ops import functional as F
"""

from trtmc.core.contract import StateLink, TensorSpec
from trtmc.ops.module import Module, ModuleList, NetworkModule, Parameter
from trtmc.ops.tensor import Tensor

__all__ = ["Module", "ModuleList", "NetworkModule", "Parameter", "StateLink", "Tensor", "TensorSpec"]
