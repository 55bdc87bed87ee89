"""`trtmc-build network run` as a user meets it: ONNX models and scripts, inputs, outputs, layers, and every refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from trtmc.cli import main as entry

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
X = np.array([[1, -1, 0.5], [0, 2, -3]], np.float32)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: object) -> tuple[int, str, str]:
        code = entry.run(["network", "run", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def _save(
    path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], weights: Any = (), **options: Any
) -> Path:
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(model, path, **options)
    return path


def _matmul(path: Path, **options: Any) -> Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 4])
    return _save(path, nodes, [x], [z], [numpy_helper.from_array(WEIGHT, "w")], **options)


def test_an_onnx_model_runs_on_given_values(run: Run, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    model = _matmul(tmp_path / "m.onnx")
    code, out, err = run(model, "--input", f"x={tmp_path / 'x.npy'}", "-o", tmp_path / "y.npz", "--json")
    assert code == 0, err
    np.testing.assert_allclose(np.load(tmp_path / "y.npz")["z"], np.maximum(X @ WEIGHT, 0), rtol=1e-6)
    told = json.loads(out)
    assert told["inputs"] == [{"name": "x", "dtype": "float32", "shape": [2, 3], "from": str(tmp_path / "x.npy")}]
    assert (told["outputs"][0]["shape"], told["outputs"][0]["not_finite"]) == ([2, 4], 0)


def test_random_values_are_the_same_for_a_seed(run: Run, tmp_path: Path) -> None:
    model = _matmul(tmp_path / "m.onnx")
    one, again, other = (run(model, "--shape", "x=2,3", "--seed", seed, "-q", "--json")[1] for seed in (1, 1, 2))
    assert one == again != other


def test_external_data_is_found_beside_the_model(run: Run, tmp_path: Path) -> None:
    model = _matmul(tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    assert run(model, "--shape", "x=2,3")[0] == 0
    (tmp_path / "w.bin").unlink()
    code, out, _ = run(model, "--shape", "x=2,3", "--json")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (3, "network.external_data")
    assert "external data of weight 'w' can't be read: Failed to open file:" in error["message"]
    assert "w.bin" in error["message"]


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("location", "../secret.bin", "../secret.bin"),
        ("location", "", "Failed to map"),
        ("offset", "4096", "offset=4096"),
        ("offset", "-4", "offset=-4"),
        ("length", "9223372036854775807", "length=9223372036854775807"),
    ],
)
def test_broken_references_to_external_data(run: Run, tmp_path: Path, key: str, value: str, text: str) -> None:
    path = _matmul(tmp_path / "m.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    model = onnx.load(path, load_external_data=False)
    entries = model.graph.initializer[0].external_data
    kept = {entry.key: entry.value for entry in entries} | {key: value}
    del entries[:]
    for name, content in kept.items():
        entries.add(key=name, value=content)
    path.write_bytes(model.SerializeToString())
    code, out, _ = run(path, "--shape", "x=2,3", "--json")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (3, "network.external_data")
    assert text in error["message"]


def test_layers_are_listed_with_what_is_refused(run: Run, tmp_path: Path) -> None:
    code, out, _ = run(_matmul(tmp_path / "m.onnx"), "--layers", "--json")
    layers = json.loads(out)["layers"]
    assert (code, [entry["kind"] for entry in layers]) == (0, ["CONSTANT", "MATRIX_MULTIPLY", "ACTIVATION"])
    assert layers[1]["outputs"] == ["y: float32[?, 4]"]
    assert not any(entry["refused"] for entry in layers)


MODULE = """
import numpy as np
from trtmc.core.contract import TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.weights import ConstantData
from trtmc.ops import functional as F
from trtmc.ops.module import NetworkModule, Parameter

class Net(NetworkModule):
    def __init__(self):
        self.weight = Parameter(4, 3)
        self.weight.load(ConstantData("weight", DType.F32, (4, 3), np.ones((4, 3), np.float32)))
    def input_tensors(self):
        return [TensorSpec("x", DType.F32, ("n", 3))]
    def forward(self, x):
        return {"y": F.relu(F.linear(x, self.weight))}

def network():
    return Net()
"""
CALLS = """
def define(network, trt):
    x = network.add_input("x", trt.float32, (-1, 3))
    y = network.add_activation(x, trt.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
"""


@pytest.mark.parametrize(("script", "width"), [(MODULE, 4), (CALLS, 3)])
def test_a_script_defines_a_network(run: Run, tmp_path: Path, script: str, width: int) -> None:
    path = tmp_path / "net.py"
    path.write_text(script)
    np.savez(tmp_path / "in.npz", x=X)
    code, _, err = run(path, "--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert code == 0, err
    y = np.load(tmp_path / "out.npz")["y"]
    expected = np.maximum(X.sum(1, keepdims=True) * np.ones((1, 4)), 0) if width == 4 else np.maximum(X, 0)
    np.testing.assert_allclose(y, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("x = 1", "network.script", "must define exactly one"),
        ("def network(): return 3", "network.script", "must return a NetworkModule, found int"),
        (
            "def network():\n    raise ValueError('no')",
            "network.script_failed",
            "line 2: network() failed: ValueError: no",
        ),
        ("def define(network, trt): pass", "network.no_outputs", "marked no output"),
        ("import nothing_like_this", "network.script_failed", "line 1: running it failed: ModuleNotFoundError"),
        ("def (", "network.script_failed", "line 1: running it failed: SyntaxError"),
        ("raise SystemExit(0)", "network.script_failed", "SystemExit"),
        (CALLS + MODULE, "network.script", "found network and define"),
    ],
)
def test_a_broken_script_is_an_error_with_a_place(run: Run, tmp_path: Path, script: str, code: str, text: str) -> None:
    path = tmp_path / "net.py"
    path.write_text(script)
    status, out, _ = run(path, "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (3, code)
    assert text in error["message"]


def _text(path: Path) -> Path:
    path.write_text("this is no model")
    return path


def _cut(path: Path) -> Path:
    _matmul(path)
    path.write_bytes(path.read_bytes()[:60])
    return path


def _empty(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def _refused_by_the_parser(path: Path) -> Path:
    ids = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2])
    node = helper.make_node("Unique", ["x"], ["z"], name="the bad node")
    return _save(path, [node], [ids], [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["m"])])


@pytest.mark.parametrize(
    ("make", "status", "code", "text"),
    [
        (lambda path: path, 3, "network.no_file", "no such file"),
        (lambda path: path.parent, 3, "network.no_file", "is a folder"),
        (_empty, 3, "network.not_onnx", "is empty"),
        (_text, 3, "network.no_outputs", "not an ONNX model"),
        (_cut, 3, "network.not_onnx", "not an ONNX model"),
        (_refused_by_the_parser, 4, "network.parser_refused", "node 'the bad node' (Unique)"),
    ],
)
def test_what_is_no_model_is_refused(run: Run, tmp_path: Path, make: Any, status: int, code: str, text: str) -> None:
    got, out, _ = run(make(tmp_path / "m.onnx"), "--json")
    error = json.loads(out)["error"]
    assert (got, error["code"]) == (status, code)
    assert text in error["message"]


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        ([], 2, "network.input_shape"),
        (["--shape", "x=2,4"], 3, "network.input_shape"),
        (["--shape", "x=two"], 2, "network.input_shape"),
        (["--shape", "q=1"], 2, "network.input_name"),
        (["--range", "x=3"], 2, "network.input_range"),
        (["--range", "x=3,1"], 2, "network.input_range"),
        (["--shape", "x=2,3", "--range", "x=0,inf"], 2, "network.input_range"),
        (["--shape", "x=2,3", "--range", "x=nan,1"], 2, "network.input_range"),
        (["--shape", "x=2,3", "--range", "x=1e300,1e308"], 2, "network.input_range"),
        (["--shape", "x=99999999999999999999,3"], 2, "network.input_shape"),
        (["--shape", "x=²,3"], 2, "network.input_shape"),
        (["--shape", "x=-1,3"], 2, "network.input_shape"),
        (["--shape", "x=4000000000,3"], 2, "network.input_shape"),
        (["--input", "x=missing.npy"], 3, "network.no_file"),
        (["--input", "missing.npz"], 3, "network.no_file"),
        (["--shape", "x=2,3", "-o", "/nowhere/at/all.npz"], 2, "output.folder"),
    ],
)
def test_wrong_options(run: Run, tmp_path: Path, arguments: list[str], status: int, code: str) -> None:
    got, out, _ = run(_matmul(tmp_path / "m.onnx"), *arguments, "--json")
    assert (got, json.loads(out)["error"]["code"]) == (status, code)


def test_a_layer_that_the_cpu_lacks_is_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(
        "def define(network, trt):\n"
        "    x = network.add_input('x', trt.float32, (3, 4))\n"
        "    all_reduce = trt.CollectiveOperation.ALL_REDUCE\n"
        "    layer = network.add_dist_collective(x, all_reduce, trt.ReduceOperation.SUM, -1, [])\n"
        "    layer.name = 'over many'\n"
        "    layer.get_output(0).name = 'y'\n"
        "    network.mark_output(layer.get_output(0))\n"
    )
    status, out, err = run(path, "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"]) == (4, "network.unsupported_layer"), err
    assert "'over many' (DIST_COLLECTIVE)" in error["message"]


INTEGERS = """
def define(network, trt):
    x = network.add_input("x", trt.int64, (3,))
    layer = network.add_elementwise(x, x, trt.ElementWiseOperation.PROD)
    layer.name = "the square"
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
"""


def test_64_bit_arithmetic_is_warned_of(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(INTEGERS)
    code, _, err = run(path)
    assert code == 0
    assert "warning: 1 layers compute 64-bit integers in 32 bits, the first is 'the square'" in err
    path.write_text(CALLS)
    assert "warning" not in run(path, "--shape", "x=2,3")[2]


FIXED_BATCH = """
import numpy as np

def define(network, trt):
    x = network.add_input("x", trt.float32, (-1, 3))
    ones = np.ones((2, 3), np.float32)
    constant = network.add_constant((2, 3), ones)
    layer = network.add_elementwise(x, constant.get_output(0), trt.ElementWiseOperation.SUM)
    layer.name = "the sum"
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return ones
"""


def test_sizes_that_meet_at_run_time_only_are_the_users_to_mend(run: Run, tmp_path: Path) -> None:
    """As in a model that was traced with a fixed batch."""
    path = tmp_path / "net.py"
    path.write_text(FIXED_BATCH)
    assert run(path, "--shape", "x=2,3")[0] == 0
    code, out, err = run(path, "--shape", "x=5,3", "--json")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (3, "network.input_shape")
    assert "x [5, 3]" in error["message"]
    assert "layer 'the sum'" in error["message"]
    assert "takes x: float32[?, 3]" in error["message"]
    assert "src/" not in error["message"]
    assert "float32[2, 3]" in error["message"]
    assert "Traceback" not in err


@pytest.mark.parametrize("kind", ["input", "output"])
def test_a_tensor_without_a_name_is_refused(run: Run, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "net.py"
    names = ("", "y") if kind == "input" else ("x", "")
    path.write_text(CALLS.replace('"x"', f'"{names[0]}"').replace('"y"', f'"{names[1]}"'))
    code, out, _ = run(path, "--shape", "x=2,3", "--json")
    error = json.loads(out)["error"]
    assert (code, error["code"]) == (3, "network.unnamed"), error
    assert f"{kind} 0 has no name" in error["message"]


def test_an_output_that_is_an_input_is_refused(run: Run, tmp_path: Path) -> None:
    model = _matmul(tmp_path / "m.onnx")
    np.savez(tmp_path / "x.npz", x=X)
    before = model.read_bytes()
    for target in (model, tmp_path / "x.npz"):
        code, out, _ = run(model, "--input", tmp_path / "x.npz", "-o", target, "--json")
        assert (code, json.loads(out)["error"]["code"]) == (2, "output.is_input")
    assert model.read_bytes() == before
