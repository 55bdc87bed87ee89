"""Compiles a finished network with TensorRT: for one compute capability, or for all that the portable target names.

TensorRT-RTX needs no GPU and no driver for this. Enterprise TensorRT times kernels, so it must run on a GPU of the
target; the code is the same. The network's inputs and outputs are the engine's: the contract is checked, not changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trtmc.compilers.base import CompileOptions, Compiler, NetworkSource
from trtmc.compilers.tensorrt.configuration import builder_config
from trtmc.compilers.tensorrt.failure import BuildLog
from trtmc.compilers.tensorrt.plan import PlanEngine
from trtmc.core.contract import Contract
from trtmc.ops.lowering.text import layer_counts
from trtmc.ops.lowering.verify import verify


class _TensorRt(Compiler):
    """Both compilers; they differ by the package behind `trtmc.ops.lowering.api`."""

    def compile(self, source: NetworkSource, options: CompileOptions) -> PlanEngine:
        self.chosen(options)
        network, contract, report = source.network, source.contract, source.report
        with report.phase("configure"):
            verify(network, contract.inputs, contract.outputs, contract.state)
            layers = layer_counts(network)
            log = BuildLog(source.builder)
            config = builder_config(source.builder, contract, options.target)
        with report.phase("compile"):
            plan = source.builder.build_serialized_network(network, config)
        if plan is None:
            raise log.failure(network, options.target)
        facts = {"compiler": self.name, "network_layers": layers}
        report.facts.update(facts, engine_bytes=plan.nbytes)
        return PlanEngine(_with_facts(contract, facts), report, plan)


class TensorRtRtxCompiler(_TensorRt):
    """Ahead-of-time engines for RTX GPUs, built on any CPU."""

    name = "tensorrt_rtx"


class TensorRtCompiler(_TensorRt):
    """Engines of enterprise TensorRT, built on the GPU that runs them."""

    name = "tensorrt"


def _with_facts(contract: Contract, facts: dict[str, Any]) -> Contract:
    return replace(contract, report={**contract.report, **facts})
