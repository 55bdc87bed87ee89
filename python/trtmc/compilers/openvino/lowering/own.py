"""The operations of the `trtmc` set (see cc/backends/openvino/ops/README.md): nodes that patterns made -> layers.

Weights are emitted as raw bytes in the checkpoint's own layout, small vectors as float32.
"""

from __future__ import annotations

import numpy as np

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Node, Tensor
from trtmc.compilers.openvino.ir.model import Attribute, ElementType, Value
from trtmc.compilers.openvino.lowering.context import Lowering, Rule
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError

VERSION = "trtmc"
WEIGHT_TYPES = {DType.F16: "f16", DType.BF16: "bf16", DType.F32: "f32"}


def _data(node: Node, tensor: Tensor | None, what: str) -> ConstantData:
    data = tensor.constant if tensor is not None else None
    if data is None:
        raise InternalError("engine.own_operation", f"'{node.name}' ({node.kind}): its {what} must be a constant")
    return data


def _raw(low: Lowering, data: ConstantData) -> Value:
    """Weights byte for byte, as a flat u8 constant: nothing on the way to the kernel may convert them."""
    return low.stored(data, ElementType.U8, (data.nbytes,))


def _floats(low: Lowering, data: ConstantData, shape: tuple[int, ...]) -> Value:
    """A small constant as float32; one copy for all layers that use it."""
    key = ("float32", data.address, data.nbytes, shape)
    return low.once(key, lambda: low.ops.array(np.ascontiguousarray(data.as_float32()).reshape(shape)))


def _emit(low: Lowering, node: Node, inputs: list[Value], attributes: dict[str, Attribute]) -> None:
    layer = low.model.add(
        node.kind.removeprefix("trtmc."), inputs, [ElementType.F32], attributes, VERSION, name=node.name
    )
    low.put(node.output, layer.value())


def embedding_gather(low: Lowering, node: Node) -> None:
    """inputs: ids, weight."""
    weight = _data(node, node.input(1), "table")
    rows, width = weight.shape[-2:]
    attributes: dict[str, Attribute] = {"rows": rows, "n": width, "weight_type": WEIGHT_TYPES[weight.dtype]}
    _emit(low, node, [low.value(node.required(0)), _raw(low, weight)], attributes)


def rms_norm(low: Lowering, node: Node) -> None:
    """inputs: x, weight."""
    weight = _data(node, node.input(1), "weight")
    attributes = {"size": weight.size, "epsilon": node.attributes["epsilon"]}
    _emit(low, node, [low.value(node.required(0)), _floats(low, weight, (weight.size,))], attributes)


def linear(low: Lowering, node: Node) -> None:
    """inputs: x, weight, bias or None, residual or None."""
    weight = _data(node, node.input(1), "weight")
    n, k = weight.shape[-2:]
    bias, residual = node.input(2), node.input(3)
    inputs = [low.value(node.required(0)), _raw(low, weight)]
    if bias is not None:
        inputs.append(_floats(low, _data(node, bias, "bias"), (n,)))
    if residual is not None:
        inputs.append(low.value(residual))
    attributes = {
        "n": n,
        "k": k,
        "weight_type": WEIGHT_TYPES[weight.dtype],
        "bias": bias is not None,
        "residual": residual is not None,
        "compute": node.attributes.get("compute", "f32"),
    }
    _emit(low, node, inputs, attributes)


def attention(low: Lowering, node: Node) -> None:
    """inputs: q, k, v, k_cache, v_cache, write_indices, kv_lengths[, position_ids, cos, sin]."""
    inputs = [low.value(node.required(i)) for i in range(7)]
    if node.attributes["rotary"] != "none":
        inputs.append(low.value(node.required(7)))
        for i in (8, 9):
            table = _data(node, node.input(i), "rotary table")
            inputs.append(_floats(low, table, tuple(table.shape[-2:])))
    _emit(low, node, inputs, dict(node.attributes))


def plain(low: Lowering, node: Node) -> None:
    """Operations whose inputs are activations only."""
    _emit(low, node, low.args(node), dict(node.attributes))


RULES: dict[str, Rule] = {
    "trtmc.EmbeddingGather": embedding_gather,
    "trtmc.RmsNorm": rms_norm,
    "trtmc.Linear": linear,
    "trtmc.GatedActivation": plain,
    "trtmc.Attention": attention,
    "trtmc.GatherRows": plain,
    "trtmc.Add": plain,
}
