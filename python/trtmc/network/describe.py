"""What a run tells: the layers of a network with what the CPU makes of each, and the outputs in figures.

Everything here is plain data for printing; nothing runs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph, Tensor
from trtmc.compilers.openvino.lowering.table import refusal_of
from trtmc.core.contract import TensorSpec
from trtmc.core.dtype import COMPUTE_DTYPES, DType

_SHOWN = 8


def layers(graph: Graph) -> list[dict[str, Any]]:
    """One entry per layer in the network's order; `refused` says why the CPU can't run it, if so."""
    return [
        {
            "name": node.name,
            "kind": node.kind,
            "inputs": [_tensor(t) if t is not None else None for t in node.inputs],
            "outputs": [_tensor(t) for t in node.outputs],
            "refused": refusal_of(node),
        }
        for node in graph
    ]


def layers_text(entries: list[dict[str, Any]]) -> str:
    """A line per layer and a sum."""
    lines = []
    for entry in entries:
        outputs = ", ".join(entry["outputs"])
        refused = f"  -- refused: {entry['refused']}" if entry["refused"] else ""
        lines.append(f"{entry['kind']:<20} {entry['name']} -> {outputs}{refused}")
    bad = sum(1 for entry in entries if entry["refused"])
    lines.append(f"{len(entries)} layers" + (f", {bad} of them refused on the CPU" if bad else ""))
    return "\n".join(lines)


def _tensor(tensor: Tensor) -> str:
    return f"{tensor.name}: {tensor.dtype}[{', '.join('?' if d < 0 else str(d) for d in tensor.shape)}]"


_COUNTS = ("SHAPE", "TOPK", "NON_ZERO", "NMS")  # what they give are sizes and places, which fit into 32 bits
_GROWS = ("ELEMENTWISE", "REDUCE", "CUMULATIVE", "MATRIX_MULTIPLY", "CAST", "EINSUM")


def wide_integers(graph: Graph) -> list[str]:
    """Layers that compute 64-bit integers from the network's inputs, shapes aside: on the CPU they have 32 bits."""
    from_inputs = {id(tensor) for tensor in graph.inputs}
    found = []
    for node in graph:  # in order of creation, which may miss a layer of a loop; this is a warning, no check
        if node.kind in _COUNTS or not any(id(t) in from_inputs for t in node.inputs if t is not None):
            continue
        from_inputs.update(id(t) for t in node.outputs)
        wide = node.outputs and node.outputs[0].dtype is DType.I64
        if wide and node.kind in _GROWS and node.attributes.get("op") not in ("MAX", "MIN"):
            source = node.required(0).dtype
            if node.kind != "CAST" or source in COMPUTE_DTYPES:
                found.append(node.name)
    return found


def figures(spec: TensorSpec, array: np.ndarray) -> dict[str, Any]:
    """Shape, range, mean and the first values of an output; NaN and infinity are counted, not averaged."""
    result: dict[str, Any] = {"name": spec.name, "dtype": spec.dtype.value, "shape": list(array.shape)}
    values = _numbers(spec.dtype, array)
    if values is None:
        return result
    finite = values[np.isfinite(values)]
    if finite.size:
        result |= {"min": float(finite.min()), "max": float(finite.max()), "mean": float(finite.mean())}
    result["not_finite"] = int(values.size - finite.size)
    result["first"] = [float(v) if np.isfinite(v) else str(v) for v in values[:_SHOWN]]
    return result


def figures_text(entry: dict[str, Any]) -> str:
    """One line."""
    head = f"{entry['name']}: {entry['dtype']}{entry['shape']}"
    if "first" not in entry:
        return head
    spread = f" min {entry['min']:.6g} max {entry['max']:.6g} mean {entry['mean']:.6g}" if "min" in entry else ""
    bad = f" NOT FINITE {entry['not_finite']}" if entry["not_finite"] else ""
    first = ", ".join(f"{v:.6g}" if isinstance(v, float) else v for v in entry["first"])
    return f"{head}{spread}{bad} first [{first}]"


def _numbers(dtype: DType, array: np.ndarray) -> np.ndarray | None:
    """The values as flat float64, None for the types that only exist packed or as codes."""
    if dtype in COMPUTE_DTYPES:
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return ConstantData(dtype, array.shape, raw).as_float32().reshape(-1).astype(np.float64)
    if dtype.is_float or dtype.bits < 8:
        return None
    return array.reshape(-1).astype(np.float64)
