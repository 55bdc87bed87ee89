"""The text form: exact bytes, floats, escaping, and OpenVINO reading it back."""

from __future__ import annotations

import numpy as np
import pytest

from trtmc.compilers.openvino.ir.model import ElementType, Model
from trtmc.compilers.openvino.ir.ops import Ops
from trtmc.compilers.openvino.ir.xml import attribute_text, to_xml

EXPECTED = b"""<?xml version="1.0"?>
<net name="network" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="?,2" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"/></output>
</layer>
<layer id="1" name="network/Const" type="Const" version="opset1">
<data element_type="f32" shape="2" offset="0" size="8"/>
<output><port id="0" precision="FP32"/></output>
</layer>
<layer id="2" name="network/Add" type="Add" version="opset1">
<data auto_broadcast="numpy"/>
<input><port id="0"/><port id="1"/></input>
<output><port id="2" precision="FP32" names="y"/></output>
</layer>
<layer id="3" name="y/result" type="Result" version="opset1">
<input><port id="0"/></input>
</layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/>
</edges>
<rt_info/>
</net>
"""


def _sum_model() -> Model:
    model = Model()
    ops = Ops(model)
    x = model.parameter("x", ElementType.F32, (-1, 2))
    model.result("y", ops.add(x, ops.array(np.array([1, 2], np.float32))))
    return model


def test_the_same_model_gives_these_bytes() -> None:
    assert to_xml(_sum_model()) == EXPECTED


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-5, "1e-5"),
        (0.125, "1.25e-1"),
        (1 / 3, "3.3333334e-1"),
        (0.0, "0e+0"),
        (True, "true"),
        (-3, "-3"),
        ((1, 2), "1, 2"),
        ("a", "a"),
    ],
)
def test_attribute_text(value: object, text: str) -> None:
    assert attribute_text(value) == text  # type: ignore[arg-type]
    if isinstance(value, float):
        assert np.float32(text) == np.float32(value)


def test_a_float_that_is_not_finite_is_refused() -> None:
    with pytest.raises(ValueError, match="inf"):
        attribute_text(float("inf"))


def test_names_are_escaped_and_unique() -> None:
    model = Model()
    first, second = (model.add("Relu", [], [ElementType.F32], name='a<"b"') for _ in range(2))
    assert [first.name, second.name] == ['a<"b"', 'a<"b".1']
    assert b"name='a&lt;\"b\"'" in to_xml(model)


def test_control_characters_in_names_are_replaced() -> None:
    model = Model()
    model.add("Relu", [], [ElementType.F32], name="a\x01b\nc")
    assert b'name="a?b?c"' in to_xml(model)


def test_openvino_reads_it_back() -> None:
    openvino = pytest.importorskip("openvino")
    model = _sum_model()
    weights = np.frombuffer(b"".join(model.blob.chunks()), np.uint8)
    read = openvino.Core().read_model(to_xml(model), openvino.Tensor(weights))
    assert [p.get_any_name() for p in (*read.inputs, *read.outputs)] == ["x", "y"]
    assert str(read.outputs[0].get_partial_shape()) == "[?,2]"


def test_an_input_that_is_also_an_output_keeps_both_names() -> None:
    model = Model()
    x = model.parameter("x", ElementType.F32, (2,))
    model.result("y", x)
    model.result("z", x)
    text = to_xml(model)
    assert text.count(b'type="Convert"') == 2
    assert text.count(b'names="x"') == text.count(b'names="y"') == text.count(b'names="z"') == 1
