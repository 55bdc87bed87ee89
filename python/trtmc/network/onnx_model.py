"""An ONNX model as a TensorRT network, made by TensorRT's own parser.

What the parser refuses is reported in its words, with the node that it stopped at. Knows nothing about ONNX operators.

    loaded = load_onnx(Path("model.onnx"))
"""

from __future__ import annotations

import re
from pathlib import Path

import tensorrt_rtx as trt

from trtmc.core.errors import BadInput, TrtmcError, Unsupported
from trtmc.network.loaded import LoadedNetwork, empty_network, logger
from trtmc.network.onnx_sizes import MOST, size_beyond

_SHOWN = 3
_EXTERNAL = "WeightsContext"  # the part of the parser that reads external data; only its log says what went wrong


def load_onnx(path: Path) -> LoadedNetwork:
    """Parses a file; external data is looked for beside it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise BadInput("network.no_file", f"{path}: no such file") from None
    except IsADirectoryError:
        raise BadInput("network.no_file", f"{path}: is a folder, expected an ONNX file") from None
    return parse_onnx(data, str(path), str(path.absolute()))


def parse_onnx(data: bytes, origin: str, location: str = "") -> LoadedNetwork:
    """Parses a model in memory; `location` is the path that its external data is relative to."""
    if not data:
        raise BadInput("network.not_onnx", f"{origin}: the file is empty, expected an ONNX model")
    if (beyond := size_beyond(data)) is not None:
        name, size = beyond
        raise Unsupported(
            "network.size",
            f"{origin}: '{name}' has a dimension of {size}; TensorRT's parser reads dimensions beyond {MOST} as 0",
        )
    logger().taken()
    network = empty_network()
    parser = trt.OnnxParser(network, logger())
    parsed = parser.parse(data, location) if location else parser.parse(data)
    if not parsed:
        raise _refusal(parser, origin)
    if not network.num_outputs:
        raise BadInput("network.no_outputs", f"{origin}: not an ONNX model, or one without outputs")
    return LoadedNetwork(network, origin, (parser, data))


def _refusal(parser: trt.OnnxParser, origin: str) -> TrtmcError:
    errors = [parser.get_error(i) for i in range(parser.num_errors)]
    codes = {error.code() for error in errors}
    logged = logger().taken()
    outside = next((line for line in logged if line.startswith(_EXTERNAL)), None)
    if outside is not None:
        return BadInput("network.external_data", f"{origin}: {_external(outside, errors)}")
    text = "; ".join(_sentence(error) for error in errors[:_SHOWN]) or "; ".join(logged[:_SHOWN])
    more = f" (and {len(errors) - _SHOWN} more)" if len(errors) > _SHOWN else ""
    if trt.ErrorCode.MODEL_DESERIALIZE_FAILED in codes:
        return BadInput(
            "network.not_onnx", f"{origin}: not an ONNX model that TensorRT's parser can read: {text}{more}"
        )
    return Unsupported("network.parser_refused", f"{origin}: TensorRT's ONNX parser refuses it: {text}{more}")


def _external(logged: str, errors: list[trt.ParserError]) -> str:
    named = [re.search(r"initializer: ([^:]+)$", " ".join(error.desc().split())) for error in errors]
    weight = next((f" of weight '{found.group(1)}'" for found in named if found), "")
    reason = logged.split(": ", 1)[-1]
    return (
        f"the external data{weight} can't be read: {reason}; it must lie beside the model, at a path relative to it, "
        "and hold as many bytes as the model says"
    )


def _sentence(error: trt.ParserError) -> str:
    description = " ".join(error.desc().split())
    if error.node_operator():
        return f"node '{error.node_name()}' ({error.node_operator()}): {description}"
    return description
