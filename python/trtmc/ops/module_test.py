"""Modules, scopes and shape checks, without a model."""

from __future__ import annotations

import numpy as np
import pytest

from trtmc.core.contract import TensorSpec, WeightBinding
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError
from trtmc.core.weights import ConstantData
from trtmc.ops import Module, ModuleList, NetworkModule, Parameter, Tensor
from trtmc.ops import functional as F
from trtmc.ops.lowering.lower import LoweredNetwork, lower
from trtmc.ops.lowering.network import NetworkLowering
from trtmc.ops.lowering.text import network_text
from trtmc.ops.tensor import product


class Scale(Module):
    def __init__(self) -> None:
        self.weight = Parameter(4, 3)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)


class Net(NetworkModule):
    """Two blocks in a list; `body` may replace what forward does."""

    def __init__(self, dtype: DType = DType.F32) -> None:
        self.blocks = ModuleList([Scale(), Scale()])
        self.dtype = dtype
        fill(self)

    def input_tensors(self) -> list[TensorSpec]:
        return [TensorSpec("x", self.dtype, ("batch", "sequence", 3))]

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"y": self.blocks.run(0, x) + self.blocks.run(1, x)}


def fill(module: Module, dtype: DType = DType.F32) -> None:
    for name, parameter in module.named_parameters():
        shape = parameter.shape
        parameter.load(ConstantData(name, dtype, shape, np.ones(shape, dtype.storage)))


def lower_body(body: object) -> LoweredNetwork:
    net = Net()
    net.forward = body  # type: ignore[method-assign,assignment]
    net.blocks = ModuleList([])
    return lower(net)


def test_parameter_paths() -> None:
    assert [name for name, _ in Net().named_parameters()] == ["blocks.0.weight", "blocks.1.weight"]


def test_shared_parameter_comes_once() -> None:
    net = Net()
    first, second = (child for _, child in net.blocks.children())
    second.weight = first.weight
    assert [name for name, _ in net.named_parameters()] == ["blocks.0.weight"]


def test_text_of_a_network() -> None:
    assert network_text(lower(Net()).network, hashes=False) == (
        "input %x : float32[batch,sequence,3]\n"
        "%0 = CONSTANT() : float32[1,4,3]  # weight:blocks.0.weight\n"
        "%1 = MATRIX_MULTIPLY(%x, %0) op0=NONE op1=TRANSPOSE : float32[?,?,4]  # blocks.0/matmul\n"
        "%2 = CONSTANT() : float32[1,4,3]  # weight:blocks.1.weight\n"
        "%3 = MATRIX_MULTIPLY(%x, %2) op0=NONE op1=TRANSPOSE : float32[?,?,4]  # blocks.1/matmul\n"
        "%4 = ELEMENTWISE(%1, %3) op=SUM : float32[?,?,4]  # add\n"
        "output y = %4 : float32[?,?,4]\n"
    )


def test_a_weight_outside_is_an_input_in_the_shape_of_its_first_use() -> None:
    net = Net()
    for name, parameter in net.named_parameters():
        binding = WeightBinding(name, DType.F32, (4, 3), name)
        parameter.load(ConstantData(name, DType.F32, (4, 3), np.empty(0, np.float32), binding))
    lowered = lower(net)
    assert network_text(lowered.network, hashes=False) == (
        "input %x : float32[batch,sequence,3]\n"
        "input %blocks.0.weight : float32[1,4,3]\n"
        "input %blocks.1.weight : float32[1,4,3]\n"
        "%0 = MATRIX_MULTIPLY(%x, %blocks.0.weight) op0=NONE op1=TRANSPOSE : float32[?,?,4]  # blocks.0/matmul\n"
        "%1 = MATRIX_MULTIPLY(%x, %blocks.1.weight) op0=NONE op1=TRANSPOSE : float32[?,?,4]  # blocks.1/matmul\n"
        "%2 = ELEMENTWISE(%0, %1) op=SUM : float32[?,?,4]  # add\n"
        "output y = %2 : float32[?,?,4]\n"
    )
    assert {(w.shape, w.steps) for w in lowered.weights} == {((1, 4, 3), ("reshape",))}


def test_a_weight_outside_under_two_shapes_is_one_input_and_a_view() -> None:
    lowering = NetworkLowering()
    data = ConstantData("w", DType.F16, (4, 3), np.empty(0, np.float16), WeightBinding("w", DType.F16, (4, 3), "w"))
    table, matrix, again = lowering.constant(data), lowering.constant(data, (1, 4, 3)), lowering.constant(data)
    assert (tuple(table.shape), tuple(matrix.shape)) == ((4, 3), (1, 4, 3)) and again is table
    assert [(w.input, w.shape, w.steps) for w in lowering.weights] == [("w", (4, 3), ())]


def test_constants_are_not_copied() -> None:
    lowered = lower(Net())
    addresses = {array.ctypes.data for array in lowered.lowering.keepalive}
    layer = lowered.network.get_layer(0)
    layer.__class__ = __import__("tensorrt_rtx").IConstantLayer
    assert layer.weights.ctypes.data in addresses


def test_outside_of_a_build() -> None:
    x = Tensor(DType.F32, (1,), None)
    with pytest.raises(InternalError, match="only work while a network is being built"):
        F.cast(x, DType.F16)


def test_unloaded_parameter() -> None:
    with pytest.raises(InternalError, match="before its weights were loaded"):
        _ = Parameter(2).data


def test_parameter_that_forward_never_reads() -> None:
    net = Net()
    net.spare = Scale()
    fill(net.spare)
    with pytest.raises(InternalError, match=r"never reads the parameters spare\.weight"):
        lower(net)


@pytest.mark.parametrize(
    ("body", "piece"),
    [
        (lambda x: {"y": x + F.cast(x, DType.F16)}, "add in the network: operands must have one type"),
        (lambda x: {"y": x * F.flatten(x)}, "operands must have one rank"),
        (lambda x: {"y": F.activation(x, "selu")}, "'selu' is not implemented"),
        (lambda x: {"y": F.gelu(x, "sigmoid")}, "approximate must be"),
        (lambda x: {"y": F.split_heads(x, 2)}, "does not split into 2"),
        (lambda x: {"y": F.merge_heads(x)}, "expected [batch, heads, sequence, head_dim]"),
        (lambda x: {"y": F.gather_rows(F.flatten(x), x)}, "gather_rows in the network"),
        (lambda x: {"y": F.linear(x, Parameter(4, 5))}, "does not end in the weight's 5 columns"),
        (lambda x: {"y": F.embedding(x, Parameter(4, 5))}, "ids must be integers"),
        (lambda x: {"y": F.rms_norm(x, Parameter(5), 1e-6)}, "weight [5] does not match"),
    ],
)
def test_shape_and_type_errors_name_the_op(body: object, piece: str) -> None:
    with pytest.raises(InternalError) as caught:
        lower_body(body)
    assert caught.value.code == "ops.shape"
    assert piece in caught.value.message


def test_error_names_the_module() -> None:
    class Bad(Scale):
        def forward(self, x: Tensor) -> Tensor:
            return F.merge_heads(x)

    net = Net()
    net.blocks = ModuleList([Bad(), Bad()])
    fill(net)
    with pytest.raises(InternalError, match=r"merge_heads in blocks\.0"):
        lower(net)


def test_network_with_an_unused_result_is_illegal() -> None:
    def body(x: Tensor) -> dict[str, Tensor]:
        F.relu(x)
        return {"y": F.silu(x)}

    with pytest.raises(InternalError, match="nothing reads the result of layer 'relu'") as caught:
        lower_body(body)
    assert caught.value.code == "network.illegal"


def test_shapes_of_head_ops() -> None:
    def body(x: Tensor) -> dict[str, Tensor]:
        heads = F.split_heads(x, 3)
        assert heads.shape == ("batch", 3, "sequence", 1)
        assert F.swap_heads(F.unflatten_last(x, 3)).shape == heads.shape
        assert F.flatten(x).shape == ("batch*sequence", 3)
        return {"y": F.merge_heads(heads)}

    with pytest.raises(InternalError, match="nothing reads"):  # the shapes above were right, their results are unused
        lower_body(body)


@pytest.mark.parametrize(
    ("dims", "expected"),
    [((2, 3), 6), (("a", "b"), "a*b"), (("a", 2, 3), "6*a"), ((1, "a"), "a"), ((), 1)],
)
def test_product_of_dimensions(dims: tuple[int | str, ...], expected: int | str) -> None:
    assert product(dims) == expected
