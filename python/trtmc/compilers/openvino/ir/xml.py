"""The text form (version 11) of a `Model`: same model, same bytes.

Only what OpenVINO's reader needs is written: types, attributes, ports, edges. Shapes of ports are left out because the
reader infers them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

import numpy as np

from trtmc.compilers.openvino.ir.model import PRECISION, Attribute, Body, ElementType, Layer, Model


def to_xml(model: Model) -> bytes:
    """Serializes the model; the weights stay in `model.blob`."""
    return "".join(_document(model)).encode()


def attribute_text(value: Attribute) -> str:
    """An attribute as the reader parses it; floats by the shortest text that gives the same float32."""
    if isinstance(value, ElementType):
        return value.value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise ValueError(f"attribute value {value} can't be written")
        return np.format_float_scientific(np.float32(value), trim="-", exp_digits=1)
    return ", ".join(attribute_text(v) for v in value)


def _document(model: Model) -> Iterator[str]:
    yield f'<?xml version="1.0"?>\n<net name={quoteattr(model.name)} version="11">\n'
    yield from _graph(model)
    yield "<rt_info/>\n</net>\n"


def _graph(model: Model) -> Iterator[str]:
    yield "<layers>\n"
    for layer in model.layers:
        yield from _layer(layer)
    yield "</layers>\n<edges>\n"
    for layer in model.layers:
        for port, value in enumerate(layer.inputs):
            source = value.layer
            yield (
                f'<edge from-layer="{source.id}" from-port="{len(source.inputs) + value.index}" '
                f'to-layer="{layer.id}" to-port="{port}"/>\n'
            )
    yield "</edges>\n"


def _body(body: Body) -> Iterator[str]:
    """The links between a layer's ports and its body, then the body."""
    yield f"<{body.map_tag}>\n"
    for kind, links in (("input", body.inputs), ("output", body.outputs)):
        for link in links:
            more = "".join(f' {key}="{value}"' for key, value in link.attributes.items())
            yield f'<{kind} external_port_id="{link.external}" internal_layer_id="{link.internal}"{more}/>\n'
    yield f"</{body.map_tag}>\n"
    if body.back_edges:
        yield "<back_edges>\n"
        yield from (f'<edge from-layer="{a}" to-layer="{b}"/>\n' for a, b in body.back_edges)
        yield "</back_edges>\n"
    yield f"<{body.tag}>\n"
    yield from _graph(body.model)
    yield f"</{body.tag}>\n"


def _printable(name: str) -> str:
    """Control characters can't stand in XML at all; layer names of foreign networks may hold any."""
    return "".join(c if c.isprintable() else "?" for c in name)


def _layer(layer: Layer) -> Iterator[str]:
    name = quoteattr(_printable(layer.name))
    yield f'<layer id="{layer.id}" name={name} type="{layer.type}" version="{layer.version}">\n'
    if layer.attributes:
        data = " ".join(f"{key}={quoteattr(attribute_text(value))}" for key, value in layer.attributes.items())
        yield f"<data {data}/>\n"
    if layer.decompression:
        yield '<rt_info><attribute name="decompression" version="0"/></rt_info>\n'
    if layer.inputs:
        yield "<input>" + "".join(f'<port id="{i}"/>' for i in range(len(layer.inputs))) + "</input>\n"
    if layer.outputs:
        yield "<output>"
        for i, type in enumerate(layer.outputs):
            names = layer.tensor_names.get(i, ())
            text = f" names={quoteattr(','.join(n.replace(',', chr(92) + ',') for n in names))}" if names else ""
            precision = PRECISION.get(type, "UNSPECIFIED")
            yield f'<port id="{len(layer.inputs) + i}" precision="{precision}"{text}/>'
        yield "</output>\n"
    for body in layer.bodies:
        yield from _body(body)
    yield "</layer>\n"
