"""Compiles a finished network with TensorRT: for one compute capability, or for all that the portable target names.

TensorRT-RTX needs no GPU and no driver for this. Enterprise TensorRT times kernels, so it must run on a GPU of the
target; the code is the same. The network's inputs and outputs are the engine's, so the contract changes in its profiles
alone.
"""

from __future__ import annotations

from dataclasses import replace

from trtmc import heap
from trtmc.compilers.base import CompileOptions, Compiler, NetworkSource
from trtmc.compilers.tensorrt.configuration import fix_layouts, set_target
from trtmc.compilers.tensorrt.failure import BuildLog
from trtmc.compilers.tensorrt.head_size import pad_heads
from trtmc.compilers.tensorrt.interruption import Interruption
from trtmc.compilers.tensorrt.knobs import KNOBS, apply_knobs, check_knobs
from trtmc.compilers.tensorrt.memory import lean_memory
from trtmc.compilers.tensorrt.plan import PlanEngine, PlanFile
from trtmc.compilers.tensorrt.profiles import ProfileMode, add_profile, engine_profiles
from trtmc.ops.lowering.text import layer_counts
from trtmc.ops.lowering.verify import verify


class _TensorRt(Compiler):
    """Both compilers; they differ by the package behind `trtmc.ops.lowering.api`."""

    options = KNOBS

    def chosen(self, options: CompileOptions) -> dict[str, str]:
        chosen = super().chosen(options)
        check_knobs(chosen, options.target)
        return chosen

    def compile(self, source: NetworkSource, options: CompileOptions) -> PlanEngine:
        chosen = self.chosen(options)
        network, builder, contract, report = source.network, source.builder, source.contract, source.report
        with report.phase("configure"):
            layers = layer_counts(network)
            padding = pad_heads(network)  # its memory must live until the plan is built
            verify(network, contract.inputs, contract.outputs, contract.state, contract.weights)
            fix_layouts(network)
            contract = replace(contract, profiles=engine_profiles(contract.profiles, ProfileMode(chosen["profiles"])))
            config = builder.create_builder_config()
            set_target(config, options.target)
            apply_knobs(config, chosen)
            config.progress_monitor = interruption = Interruption()
            for profile in contract.profiles:
                add_profile(builder, config, contract.inputs, profile)
        log, plan = BuildLog(builder), PlanFile(options.scratch)
        with report.phase("compile"), lean_memory(source.release), interruption.held_back():
            built = plan.build(builder, network, config)
        if not built:
            raise log.failure(network, options.target, chosen)
        facts = {
            "compiler": self.name,
            "options": chosen,
            "network_layers": layers,
            "padded_attentions": len(padding),
            "engine_bytes": plan.path.stat().st_size,
            "heap": heap.kind(),
        }
        report.facts.update(facts)
        return PlanEngine(replace(contract, report={**contract.report, **facts}), report, plan)


class TensorRtRtxCompiler(_TensorRt):
    """Ahead-of-time engines for RTX GPUs, built on any CPU."""

    name = "tensorrt_rtx"


class TensorRtCompiler(_TensorRt):
    """Engines of enterprise TensorRT, built on the GPU that runs them."""

    name = "tensorrt"
