"""Layers and values of an OpenVINO model under construction.

Knows the text form's building blocks (types, ports, opset names), not what any operation means; `ops.py` has a function
per operation. A layer's identity is its number in order of creation, so the same calls give the same model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from trtmc.compilers.openvino.ir.blob import WeightsBlob


class ElementType(Enum):
    """OpenVINO's element types by their names in the text form."""

    F32 = "f32"
    F16 = "f16"
    BF16 = "bf16"
    I64 = "i64"
    I32 = "i32"
    I8 = "i8"
    U8 = "u8"
    I4 = "i4"
    BOOLEAN = "boolean"
    F8E4M3 = "f8e4m3"
    F8E8M0 = "f8e8m0"
    F4E2M1 = "f4e2m1"

    @property
    def is_float(self) -> bool:
        """The three types that hold activations or weights as floats."""
        return self in (ElementType.F32, ElementType.F16, ElementType.BF16)


PRECISION = {
    ElementType.F32: "FP32",
    ElementType.F16: "FP16",
    ElementType.BF16: "BF16",
    ElementType.I64: "I64",
    ElementType.I32: "I32",
    ElementType.I8: "I8",
    ElementType.U8: "U8",
    ElementType.I4: "I4",
    ElementType.BOOLEAN: "BOOL",
}
Attribute = str | int | float | bool | ElementType | Sequence[int] | Sequence[float]


@dataclass(frozen=True, eq=False)
class Value:
    """One output of a layer."""

    layer: Layer
    index: int

    @property
    def type(self) -> ElementType:
        """The element type of the value."""
        return self.layer.outputs[self.index]


@dataclass(frozen=True)
class PortLink:
    """A port of a layer with a body (-1: none) tied to the Parameter or Result `internal` of that body."""

    external: int
    internal: int
    attributes: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Body:
    """A model inside a layer; `tag` and `map_tag` are the elements that hold it and its links in the text form."""

    tag: str
    map_tag: str
    model: Model
    inputs: Sequence[PortLink]
    outputs: Sequence[PortLink]
    back_edges: Sequence[tuple[int, int]] = ()  # from a Result to the Parameter of the next iteration


@dataclass(eq=False)
class Layer:
    """One operation; `version` is the opset that defines it ("opset1", or "trtmc" for an own operation)."""

    id: int
    type: str
    version: str
    name: str
    inputs: list[Value]
    outputs: list[ElementType]
    attributes: dict[str, Attribute]
    tensor_names: dict[int, list[str]] = field(default_factory=dict)
    decompression: bool = False
    bodies: list[Body] = field(default_factory=list)

    def value(self, index: int = 0) -> Value:
        """Output `index`."""
        return Value(self, index)


WEIGHT_PREFIX = "trtmc.weight."
"""How the name of a Parameter begins that is no input but a weight; cc/backends/openvino/weight_constants.h says how it
goes on."""


def weight_name(parameter: str) -> str:
    """The weight that a Parameter of such a name stands for."""
    return parameter.split(":", 1)[1]


class Model:
    """All layers of one model and the blob that its constants live in."""

    def __init__(self, name: str = "network", blob: WeightsBlob | None = None) -> None:
        self.name = name
        self.layers: list[Layer] = []
        self.blob = blob if blob is not None else WeightsBlob()
        self.scope = "network"  # names of new layers start with this: the network's layer being lowered
        self._names: dict[str, int] = {}
        self._constants: dict[object, Value] = {}
        self._weights: dict[object, Value] = {}

    def child(self, name: str) -> Model:
        """A model for the body of a layer: layers of its own, the same blob."""
        return Model(name, self.blob)

    def add(
        self,
        type: str,
        inputs: Sequence[Value],
        outputs: Sequence[ElementType],
        attributes: Mapping[str, Attribute] | None = None,
        version: str = "opset1",
        name: str | None = None,
    ) -> Layer:
        """Appends a layer. Without `name` it is called after the current scope and its type."""
        name = name or f"{self.scope}/{type}"
        used = self._names.get(name, 0)
        self._names[name] = used + 1
        layer = Layer(
            len(self.layers),
            type,
            version,
            f"{name}.{used}" if used else name,
            list(inputs),
            list(outputs),
            dict(attributes or {}),
        )
        self.layers.append(layer)
        return layer

    def constant(self, arrays: Sequence[np.ndarray], type: ElementType, shape: Sequence[int]) -> Value:
        """A constant over raw bytes (several arrays: laid end to end). Equal constants become one layer.

        Scalars get a layer each, though one place in the blob: OpenVINO's code generator (2026.4) fails on a scalar
        that operations in different loops share.
        """
        size = sum(a.nbytes for a in arrays)
        offset = self.blob.place(arrays) if size else 0
        key = (offset, size, type, tuple(shape))
        if key not in self._constants or not shape:
            data: dict[str, Attribute] = {"element_type": type, "shape": tuple(shape), "offset": offset, "size": size}
            self._constants[key] = self.add("Const", [], [type], data).value()
        return self._constants[key]

    def weight(self, description: str, type: ElementType, shape: Sequence[int]) -> Value:
        """A constant whose bytes come by name when the engine is loaded; one layer for each type and shape of it.

        The backend puts a constant in the place of the Parameter before anything looks at the model.
        """
        key = (description, type, tuple(shape))
        if key not in self._weights:
            name = f"{WEIGHT_PREFIX}{len(self._weights)}.{description}"
            self._weights[key] = self.parameter(name, type, shape)
        return self._weights[key]

    def parameter(self, name: str, type: ElementType, shape: Sequence[int]) -> Value:
        """A named input; -1 is a dynamic dimension."""
        text = ",".join("?" if d < 0 else str(d) for d in shape)
        layer = self.add("Parameter", [], [type], {"shape": text, "element_type": type}, name=name)
        layer.tensor_names[0] = [name]
        return layer.value()

    def result(self, name: str, value: Value) -> Layer:
        """A named output. An input that is passed straight through gets a layer of its own to carry the name."""
        if value.layer.type == "Parameter":
            value = self.add("Convert", [value], [value.type], {"destination_type": value.type}).value()
        value.layer.tensor_names.setdefault(value.index, []).append(name)
        return self.add("Result", [value], [], name=f"{name}/result")

    def counts(self) -> dict[str, int]:
        """How many layers of each type, sorted; own operations as "trtmc.<Type>"."""
        found: dict[str, int] = {}
        for layer in self.layers:
            key = layer.type if layer.version.startswith("opset") else f"{layer.version}.{layer.type}"
            found[key] = found.get(key, 0) + 1
            for body in layer.bodies:
                for inner, count in body.model.counts().items():
                    found[inner] = found.get(inner, 0) + count
        return dict(sorted(found.items()))
