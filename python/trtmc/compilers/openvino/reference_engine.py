"""Runs an engine of own operations with numpy: parses the engine's own text, so it checks what was really written.

For tests and for judging the C++ executor; speed is no aim. Caches are updated in place, as on the real backend.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np

from trtmc.compilers.openvino import reference
from trtmc.compilers.openvino.ir.model import WEIGHT_PREFIX, weight_name

_TYPES = {"f32": np.float32, "i64": np.int64, "i32": np.int32, "u8": np.uint8, "f16": np.float16}
Attributes = Mapping[str, str]
Arrays = list[np.ndarray]


@dataclass(frozen=True)
class _Step:
    type: str
    id: int
    name: str
    attributes: Attributes
    sources: tuple[int, ...]


class ReferenceEngine:
    """An engine of own operations; `run` takes all inputs by name and gives all results by name."""

    def __init__(
        self, text: bytes | memoryview, weights: memoryview, external: Mapping[str, np.ndarray] | None = None
    ) -> None:
        root = ElementTree.fromstring(bytes(text))
        sources: dict[int, dict[int, int]] = {}
        for edge in root.iter("edge"):
            sources.setdefault(int(edge.attrib["to-layer"]), {})[int(edge.attrib["to-port"])] = int(
                edge.attrib["from-layer"]
            )
        self._weights = np.frombuffer(weights, np.uint8)
        self._constants: dict[int, np.ndarray] = {}
        self._matrices: dict[tuple[int, str, int, int], np.ndarray] = {}
        self.inputs: dict[str, int] = {}
        self._outputs: dict[str, int] = {}
        self.steps: list[_Step] = []
        names: dict[int, str] = {}
        for layer in root.iter("layer"):
            id, type = int(layer.attrib["id"]), layer.attrib["type"]
            data = layer.find("data")
            attributes = dict(data.attrib) if data is not None else {}
            port = layer.find("output/port")
            if port is not None and "names" in port.attrib:
                names[id] = port.attrib["names"]
            ports = sources.get(id, {})
            step = _Step(type, id, layer.attrib["name"], attributes, tuple(ports[i] for i in sorted(ports)))
            if type == "Const":
                self._constants[id] = self._constant(attributes)
            elif type == "Parameter" and names[id].startswith(WEIGHT_PREFIX):
                weight = (external or {})[weight_name(names[id])]
                self._constants[id] = np.ascontiguousarray(weight).reshape(-1).view(np.uint8)
            elif type == "Parameter":
                self.inputs[names[id]] = id
            elif type == "Result":
                self._outputs[names[step.sources[0]]] = step.sources[0]
            elif layer.attrib["version"] == "trtmc":
                self.steps.append(step)
            else:
                raise ValueError(
                    f"'{step.name}' is a standard operation ({type}); this engine runs own operations only"
                )

    def _constant(self, attributes: Attributes) -> np.ndarray:
        offset, size = int(attributes["offset"]), int(attributes["size"])
        shape = [int(d) for d in attributes["shape"].split(",") if d.strip()]
        return self._weights[offset : offset + size].view(_TYPES[attributes["element_type"]]).reshape(shape)

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """One run; arrays given for caches are modified."""
        values = {id: inputs[name] for name, id in self.inputs.items()}
        values.update(self._constants)
        for step in self.steps:
            arguments = [values[i] for i in step.sources]
            values[step.id] = _OPERATIONS[step.type](self, step, arguments)
        return {name: values[id] for name, id in self._outputs.items()}

    def matrix(self, step: _Step, rows: str, columns: str) -> np.ndarray:
        """The step's weights as float32, converted once."""
        attributes = step.attributes
        key = (step.sources[1], attributes["weight_type"], int(attributes[rows]), int(attributes[columns]))
        if key not in self._matrices:
            self._matrices[key] = reference.weight_matrix(self._constants[key[0]], *key[1:])
        return self._matrices[key]


def _embedding(engine: ReferenceEngine, step: _Step, arguments: Arrays) -> np.ndarray:
    return reference.embedding_gather(arguments[0], engine.matrix(step, "rows", "n"))


def _rms_norm(engine: ReferenceEngine, step: _Step, arguments: Arrays) -> np.ndarray:
    return reference.rms_norm(arguments[0], arguments[1], float(step.attributes["epsilon"]))


def _linear(engine: ReferenceEngine, step: _Step, arguments: Arrays) -> np.ndarray:
    rest = arguments[2:]
    bias = rest.pop(0) if step.attributes["bias"] == "true" else None
    residual = rest.pop(0) if step.attributes["residual"] == "true" else None
    return reference.linear(arguments[0], engine.matrix(step, "n", "k"), bias, residual, step.attributes["compute"])


def _attention(engine: ReferenceEngine, step: _Step, arguments: Arrays) -> np.ndarray:
    q, k, v, k_cache, v_cache, write_indices, kv_lengths = arguments[:7]
    a = step.attributes
    width = int(a["head_dim"])
    q, k, v = (x.reshape(*x.shape[:2], -1, width) for x in (q, k, v))
    if a["rotary"] != "none":
        positions, cos, sin = arguments[7:]
        if 2 * cos.shape[1] != int(a["rotary_dim"]):
            raise ValueError(f"'{step.name}': tables of width {cos.shape[1]} for rotary_dim {a['rotary_dim']}")
        q, k = (reference.rotate(x, positions, cos, sin, a["rotary"]) for x in (q, k))
    reference.update_cache(k_cache, k, write_indices)
    reference.update_cache(v_cache, v, write_indices)
    y = reference.attend(q, k_cache, v_cache, kv_lengths, float(a["scale"]), int(a["window"]))
    return y.reshape(*y.shape[:2], -1)


_OPERATIONS: dict[str, Callable[[ReferenceEngine, _Step, Arrays], np.ndarray]] = {
    "EmbeddingGather": _embedding,
    "RmsNorm": _rms_norm,
    "Linear": _linear,
    "GatedActivation": lambda engine, step, a: reference.gated_activation(a[0], a[1], step.attributes["activation"]),
    "Attention": _attention,
    "GatherRows": lambda engine, step, a: reference.gather_rows(a[0], a[1]),
    "Add": lambda engine, step, a: a[0] + a[1],
}
