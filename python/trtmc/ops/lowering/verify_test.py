"""Each rule of a legal network, broken on purpose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trtmc.core.contract import StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError
from trtmc.ops.lowering.network import NetworkLowering
from trtmc.ops.lowering.verify import verify

X = TensorSpec("x", DType.F32, ("batch", 4))
Y = TensorSpec("y", DType.F32, ("batch", 4))


def network(inputs: tuple[TensorSpec, ...] = (X,)) -> Any:
    lowering = NetworkLowering()
    handles = [lowering.add_input(spec) for spec in inputs]
    lowering.mark_output("y", lowering.output(lowering.network.add_identity(handles[0]), "identity"))
    return lowering


def problems(lowering: Any, inputs: Any = (X,), outputs: Any = (Y,), state: Any = ()) -> str:
    with pytest.raises(InternalError) as caught:
        verify(lowering.network, inputs, outputs, state)
    assert caught.value.code == "network.illegal"
    return caught.value.message


def test_legal() -> None:
    verify(network().network, [X], [Y], [StateLink("x", "y")])


def test_undeclared_tensors() -> None:
    assert "inputs are ['x'], declared are ['z']" in problems(network(), inputs=(replace(X, name="z"),))
    assert "outputs are ['y'], declared are []" in problems(network(), outputs=())


def test_wrong_type_or_shape() -> None:
    assert "output 'y' is DataType.FLOAT, declared float16" in problems(
        network(), outputs=(replace(Y, dtype=DType.F16),)
    )
    assert "has shape [-1, 4], declared ['batch', 5]" in problems(network(), outputs=(replace(Y, shape=("batch", 5)),))


def test_unnamed_dimension() -> None:
    assert "dimension 0 is not named 'rows'" in problems(network(), inputs=(replace(X, shape=("rows", 4)),))


def test_unread_input() -> None:
    spare = TensorSpec("spare", DType.F32, (2,))
    assert "nothing reads input 'spare'" in problems(network((X, spare)), inputs=(X, spare))


def test_name_that_is_taken() -> None:
    lowering = network()
    extra = lowering.network.add_identity(lowering.network.get_input(0))
    extra.name = "identity"
    lowering.mark_output("z", extra.get_output(0))
    assert "layer 1 has no name of its own" in problems(lowering, outputs=(Y, replace(Y, name="z")))


def test_state_of_two_shapes() -> None:
    other = TensorSpec("other", DType.F32, ("batch", 4, 1))
    message = problems(network(), state=(StateLink("x", "absent"), StateLink("absent", "y")))
    assert message.count("must join an input and an output") == 2
    assert other.shape != Y.shape


def test_refused_layer_quotes_tensorrt() -> None:
    lowering = network()
    with pytest.raises(InternalError, match="TensorRT refused transpose in the network") as caught:
        lowering.output(None, "transpose")
    assert caught.value.code == "lowering.refused"
