"""Sizes beyond 31 bits are found wherever ONNX keeps sizes; the field numbers are those of the onnx package."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtmc.cli import main as entry
from trtmc.network.onnx_sizes import _MESSAGES, MOST, size_beyond

KINDS = {
    "model": "ModelProto",
    "function": "FunctionProto",
    "graph": "GraphProto",
    "node": "NodeProto",
    "attribute": "AttributeProto",
    "tensor": "TensorProto",
    "sparse": "SparseTensorProto",
    "value": "ValueInfoProto",
    "type": "TypeProto",
    "shape": "TensorShapeProto",
    "size": "TensorShapeProto.Dimension",
}
TOO_MUCH = MOST + 1


def _value(name: str, *sizes: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(sizes))


def _tensor(name: str, *sizes: int) -> onnx.TensorProto:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, raw_data=b"\x08\x80\x80\x80\x80\x08")
    tensor.dims.extend(sizes)
    return tensor


def _model(*nodes: onnx.NodeProto, x: object = None, weights: tuple[onnx.TensorProto, ...] = ()) -> onnx.ModelProto:
    nodes = nodes or (helper.make_node("Relu", ["x"], ["z"]),)
    graph = helper.make_graph(nodes, "g", [x or _value("x", "n", 3)], [_value("z", "n", 3)], list(weights))
    return helper.make_model(graph)


def _branch() -> onnx.NodeProto:
    inner = helper.make_graph([helper.make_node("Constant", [], ["c"], value=_tensor("deep", TOO_MUCH))], "b", [], [])
    return helper.make_node("If", ["x"], ["z"], name="choice", then_branch=inner, else_branch=inner)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (_model(x=_value("x", TOO_MUCH, 3)), "x"),
        (_model(weights=(_tensor("fits", MOST), _tensor("w", 2, 2**40))), "w"),
        (_model(helper.make_node("Constant", [], ["z"], name="node", value=_tensor("", TOO_MUCH))), "value"),
        (_model(_branch()), "deep"),
    ],
)
def test_found_with_its_name(model: onnx.ModelProto, name: str) -> None:
    found = size_beyond(model.SerializeToString())
    assert found is not None
    assert (found[0], found[1] > MOST) == (name, True)


@pytest.mark.parametrize(
    "data",
    [
        _model(weights=(_tensor("w", MOST, 0), numpy_helper.from_array(np.ones((2, 3), np.float32), "v"))),
        b"",
        b"this is no model",
        b"\xff" * 40,
        _model(x=_value("x", TOO_MUCH)).SerializeToString()[:-1],
    ],
)
def test_nothing_to_say_of_what_fits_or_is_no_model(data: bytes | onnx.ModelProto) -> None:
    assert size_beyond(data if isinstance(data, bytes) else data.SerializeToString()) is None


def test_refused_before_the_parser_sees_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(_model(x=_value("x", 2**32 + 4, 3)), tmp_path / "m.onnx")
    assert entry.run(["network", "run", str(tmp_path / "m.onnx"), "--json"]) == 4
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "network.size"
    assert "'x' has a dimension of 4294967300; TensorRT's parser reads" in error["message"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_field_numbers_are_those_of_onnx(kind: str) -> None:
    message = onnx
    for part in KINDS[kind].split("."):
        message = getattr(message, part)
    fields = message.DESCRIPTOR.fields_by_number
    row = _MESSAGES[kind]
    for number, inside in row.inside.items():
        expected = KINDS.get(inside)
        assert expected is None or fields[number].message_type.name == expected.split(".")[-1], (kind, number)
    assert row.sizes is None or fields[row.sizes].name in ("dims", "dim_value")
    assert row.name is None or fields[row.name].name == "name"
    known = {name.split(".")[-1] for name in KINDS.values()} - {"Dimension"}
    missed = {n for n, f in fields.items() if f.message_type and f.message_type.name in known and n not in row.inside}
    assert missed == set(), "messages with sizes that are stepped over"
