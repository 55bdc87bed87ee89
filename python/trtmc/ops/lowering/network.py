"""NetworkLowering: one INetworkDefinition under construction, its constants and the names of its layers.

Layers are named after the module path and the op ("model.layers.0.mlp.up_proj/matmul"), so that texts, errors and
profiles read like the model. Constants point into the caller's arrays; `keepalive` holds those until the network is
gone. The same weight used twice becomes one constant. A weight that stands outside becomes an input behind those that
the module declares, in the shape of its first use. Knows no model.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trtmc import heap
from trtmc.core.contract import TensorSpec, WeightBinding
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError
from trtmc.core.precision import convert
from trtmc.core.weights import ConstantData
from trtmc.ops.lowering.api import TO_TRT, trt
from trtmc.ops.scope import BuildScope


class _Log(trt.ILogger):
    """Keeps TensorRT's complaints, so that an error can quote them."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.messages: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        if severity in (trt.ILogger.Severity.INTERNAL_ERROR, trt.ILogger.Severity.ERROR):
            self.messages.append(message)


class NetworkLowering:
    """An open network; ops add to it through the modules of this package."""

    def __init__(self) -> None:
        heap.start_afresh()  # so that a network compiles to the same bytes after another one
        self.log = _Log()
        self.builder = trt.Builder(self.log)
        self.network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self.keepalive: list[np.ndarray] = []
        self.scope: BuildScope | None = None
        self.constant_bytes = 0
        self.weights: list[WeightBinding] = []
        self._constants: dict[tuple[int | str, tuple[int, ...]], Any] = {}
        self._external_inputs: dict[str, Any] = {}
        self._scalars: dict[tuple[float, DType, int], Any] = {}
        self._kept: set[int] = set()
        self._names: dict[str, int] = {}

    def add_input(self, spec: TensorSpec) -> Any:
        """A network input whose dynamic dimensions carry their names."""
        shape = tuple(-1 if isinstance(dim, str) else dim for dim in spec.shape)
        tensor = self.network.add_input(spec.name, TO_TRT[spec.dtype], shape)
        if tensor is None:
            raise self.refused(f"input '{spec.name}'")
        for axis, dim in enumerate(spec.shape):
            if isinstance(dim, str):
                tensor.set_dimension_name(axis, dim)
        return tensor

    def mark_output(self, name: str, handle: Any) -> None:
        """Makes a tensor a network output under `name`."""
        handle.name = name
        self.network.mark_output(handle)

    def constant(self, data: ConstantData, shape: tuple[int, ...] | None = None) -> Any:
        """A weight, optionally seen under another shape of the same size; memory is the caller's, not copied."""
        shape = data.shape if shape is None else shape
        if data.binding is not None:
            return self._external(data, data.binding, shape)
        key: tuple[int | str, tuple[int, ...]] = (data.array.ctypes.data, shape)
        if key not in self._constants:
            self._constants[key] = self._add_constant(data, shape)
        return self._constants[key]

    def _external(self, data: ConstantData, binding: WeightBinding, shape: tuple[int, ...]) -> Any:
        """The input that takes the weight, in the shape of its first use; another shape is a view of it.

        Each view is a layer that TensorRT has to compile, for a tensor that the runtime can bind in any shape.
        """
        if binding.input not in self._external_inputs:
            if shape != binding.shape:
                binding = replace(binding, shape=shape, steps=("reshape", *binding.steps))
            self.weights.append(binding)
            self._external_inputs[binding.input] = self.add_input(TensorSpec(binding.input, binding.dtype, shape))
            self._constants[(binding.input, shape)] = self._external_inputs[binding.input]
        view = (binding.input, shape)
        if view not in self._constants:
            layer = self.network.add_shuffle(self._external_inputs[binding.input])
            if layer is None:
                raise self.refused(f"a view of weight '{data.name}'")
            layer.reshape_dims = shape
            layer.name = self._unique(f"weight:{data.name}")
            self._constants[view] = layer.get_output(0)
        return self._constants[view]

    def scalar(self, value: float, dtype: DType, rank: int) -> Any:
        """A number that broadcasts against tensors of `rank`."""
        key = (value, dtype, rank)
        if key not in self._scalars:
            array = convert(np.full((1,) * rank, value, np.float32), DType.F32, dtype, f"constant {value:g}")
            with_name = ConstantData(f"{dtype}_{value:g}_rank{rank}", dtype, (1,) * rank, array)
            self._scalars[key] = self._add_constant(with_name, with_name.shape, prefix="constant")
        return self._scalars[key]

    def output(self, layer: Any, op: str) -> Any:
        """Names a fresh layer after the running module and returns its first output."""
        if layer is None:
            raise self.refused(op)
        where = self.scope.where if self.scope else ""
        layer.name = self._unique(f"{where}/{op}" if where else op)
        return layer.get_output(0)

    def refused(self, what: str) -> InternalError:
        """The error for a layer that TensorRT would not make, with its own words."""
        where = self.scope.where if self.scope and self.scope.path else "the network"
        said = self.log.messages[-1].strip() if self.log.messages else "it gave no reason"
        return InternalError("lowering.refused", f"TensorRT refused {what} in {where}: {said}")

    def _add_constant(self, data: ConstantData, shape: tuple[int, ...], prefix: str = "weight") -> Any:
        if not (data.array.flags.c_contiguous and data.array.flags.aligned):
            raise InternalError("lowering.constant", f"constant '{data.name}' must be contiguous and aligned")
        count = int(np.prod(shape, dtype=np.int64))
        if count != int(np.prod(data.shape, dtype=np.int64)):
            raise InternalError(
                "lowering.constant",
                f"constant '{data.name}' of shape {list(data.shape)} cannot be seen as {list(shape)}",
            )
        if data.array.ctypes.data not in self._kept:
            self._kept.add(data.array.ctypes.data)
            self.keepalive.append(data.array)
            self.constant_bytes += data.array.nbytes
        layer = self.network.add_constant(shape, trt.Weights(TO_TRT[data.dtype], data.array.ctypes.data, count))
        if layer is None:
            raise self.refused(f"constant '{data.name}'")
        layer.name = self._unique(f"{prefix}:{data.name}")
        return layer.get_output(0)

    def _unique(self, name: str) -> str:
        count = self._names.get(name, 0)
        self._names[name] = count + 1
        return name if not count else f"{name}_{count}"
