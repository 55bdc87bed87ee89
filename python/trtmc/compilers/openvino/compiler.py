"""The CPU compiler: read the network, simplify, fuse if asked, lower, and hand out the engine's bytes.

`kernels=trtmc` turns a decoder into the backend's own operations, completely or not at all; `kernels=openvino` uses
standard operations only, works for any network, and is the reference for the other. `auto` fuses what has a KV cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from trtmc.compilers.base import CompiledEngine, CompileOptions, Compiler, NetworkSource, OptionSpec
from trtmc.compilers.openvino.engine_file import EngineLayout, engine_chunks
from trtmc.compilers.openvino.graph.constant import ConstantData
from trtmc.compilers.openvino.graph.graph import Graph
from trtmc.compilers.openvino.graph.reader import read_network
from trtmc.compilers.openvino.graph.regions import outline
from trtmc.compilers.openvino.ir.model import Model
from trtmc.compilers.openvino.ir.xml import to_xml
from trtmc.compilers.openvino.lowering.table import check_layers, lower
from trtmc.compilers.openvino.patterns.pipeline import fuse_decoder
from trtmc.compilers.openvino.patterns.schedule import grouped
from trtmc.compilers.openvino.patterns.simplify import simplify
from trtmc.core.contract import Contract, TensorSpec, WeightManifest
from trtmc.core.dtype import DType
from trtmc.core.errors import InternalError, UsageError
from trtmc.core.report import Report


class OpenVinoEngine(CompiledEngine):
    """Text and blob; the blob's bytes are the network's constants themselves, and keep their source alive."""

    def __init__(self, contract: Contract, report: Report, model: Model, text: bytes) -> None:
        super().__init__(contract, report)
        self._blob = model.blob
        self._text = text

    @property
    def text(self) -> bytes:
        """The model's text form."""
        return self._text

    @property
    def length(self) -> int:
        return EngineLayout(len(self._text), self._blob.length).length

    def chunks(self) -> Iterator[memoryview]:
        return engine_chunks(self._text, self._blob)


class OpenVinoCompiler(Compiler):
    """Networks to engines for the CPU."""

    name = "openvino"
    options = (
        OptionSpec("kernels", ("auto", "trtmc", "openvino"), "own fused operations, or standard ones only"),
        OptionSpec("compute", ("f32", "bf16"), "float32 products, or activations rounded to bfloat16 (own operations)"),
    )

    def compile(self, source: NetworkSource, options: CompileOptions) -> OpenVinoEngine:
        chosen, report = self.chosen(options), source.report
        with report.phase("read"):
            graph = read_network(source.network, source)
            keep_outside(graph, source.contract.weights)
            check_layers(graph)
            layers = graph.counts()
            state = cache_links(graph)
            _compare_state(state, source.contract)
            outline(graph)
            simplify(graph)
        kernels = chosen["kernels"] if chosen["kernels"] != "auto" else ("trtmc" if state else "openvino")
        if chosen["compute"] != "f32" and kernels != "trtmc":
            raise UsageError(
                "compiler.option", "option 'compute' belongs to own operations; leave it out with kernels=openvino"
            )
        with report.phase("fuse"):
            if kernels == "trtmc":
                fuse_decoder(graph)
                _set_compute(graph, chosen["compute"])
        with report.phase("lower"):
            model = lower(graph, state, grouped(graph) if kernels == "trtmc" else None)
            text = to_xml(model)
        facts = {
            "compiler": self.name,
            "kernels": kernels,
            "network_layers": layers,
            "operations": model.counts(),
            "engine_bytes": EngineLayout(len(text), model.blob.length).length,
        }
        report.facts.update(facts)
        contract = _final_contract(source.contract, state, {**facts, "compute": chosen["compute"]})
        return OpenVinoEngine(contract, report, model, text)


def keep_outside(graph: Graph, weights: WeightManifest) -> None:
    """Makes constants without values of the inputs that take external weights."""
    inputs = {tensor.name: tensor for tensor in graph.inputs}
    for binding in weights:
        tensor = inputs[binding.input]
        data = ConstantData.outside(binding.input, binding.dtype, binding.shape)
        graph.replace(tensor, graph.constant(binding.input, data))
        graph.inputs.remove(tensor)


def cache_links(graph: Graph) -> dict[str, str]:
    """Network inputs that a cache update reads -> the network outputs that it writes, in input order."""
    names = dict(zip(map(id, graph.outputs), graph.output_names, strict=True))
    links: dict[str, str] = {}
    for tensor in graph.inputs:
        for node, index in tensor.users:
            if node.kind == "KV_CACHE_UPDATE" and index == 0 and id(node.output) in names:
                links[tensor.name] = names[id(node.output)]
    return links


def _compare_state(found: dict[str, str], contract: Contract) -> None:
    declared = {link.input: link.output for link in contract.state}
    if declared != found:
        raise InternalError(
            "engine.state", f"the contract declares the state {declared}, the network's cache updates have {found}"
        )


def _set_compute(graph: Graph, compute: str) -> None:
    for node in graph:
        if node.kind == "trtmc.Linear":
            node.attributes = {**node.attributes, "compute": compute}


def _final_contract(contract: Contract, state: dict[str, str], facts: dict[str, Any]) -> Contract:
    """Caches are float32 on the CPU, whatever the network's type."""
    shared = {*state, *state.values()}

    def final(spec: TensorSpec) -> TensorSpec:
        return replace(spec, dtype=DType.F32) if spec.name in shared else spec

    return replace(
        contract,
        inputs=tuple(map(final, contract.inputs)),
        outputs=tuple(map(final, contract.outputs)),
        report={**contract.report, **facts},
    )
