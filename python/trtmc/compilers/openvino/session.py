"""A decoder session in Python over a CPU engine: step, rollback, greedy. For tests and parity checks, not for serving.

runner = open_engine(Path("llm.engine").read_bytes())      # OpenVINO or numpy, by what the engine holds
session = DecoderSession(runner, contract)
session.greedy([1, 2, 3], 16)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from trtmc.compilers.openvino.engine_file import read_engine
from trtmc.compilers.openvino.ir.model import WEIGHT_PREFIX, weight_name
from trtmc.compilers.openvino.reference_engine import ReferenceEngine
from trtmc.core.contract import Contract

_STORAGE = {"bf16": np.uint16, "f8e4m3": np.uint8, "f8e8m0": np.uint8}


class Runner(Protocol):
    """Runs an engine once: all inputs by name -> all outputs by name."""

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Cache inputs may be updated in place, or come back as outputs."""


class OpenVinoRunner:
    """An engine of standard operations on OpenVINO's CPU plugin, in float32 unless the config says otherwise."""

    def __init__(
        self,
        text: bytes | memoryview,
        weights: memoryview,
        config: Mapping[str, Any] | None = None,
        external: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        import openvino  # only here: a build needs none of it

        blob = (
            openvino.Tensor(np.frombuffer(weights, np.uint8))
            if len(weights)
            else openvino.Tensor(openvino.Type.u8, openvino.Shape([0]))
        )
        self._keep: list[Any] = [weights, blob]  # OpenVINO does not copy them
        self.model = openvino.Core().read_model(bytes(text), blob)
        for parameter in self.model.get_parameters():
            name = parameter.get_output_tensor(0).get_any_name()
            if name.startswith(WEIGHT_PREFIX):
                raw = np.ascontiguousarray((external or {})[weight_name(name)]).reshape(-1)
                kind, shape = parameter.get_output_element_type(0), openvino.Shape(parameter.get_output_shape(0))
                tensor = openvino.Tensor(raw.view(_STORAGE.get(kind.to_string(), raw.dtype)), shape, kind)
                self._keep += [raw, tensor]
                parameter.output(0).replace(openvino.op.Constant(tensor).output(0))
                self.model.remove_parameter(parameter)
        outputs = [port.get_any_name() for port in self.model.outputs]  # compiling may add names of other tensors
        settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 2}
        self.compiled = openvino.Core().compile_model(self.model, "CPU", {**settings, **(config or {})})
        self._request = self.compiled.create_infer_request()
        self._openvino = openvino
        self._inputs = {port.get_any_name(): port.get_element_type() for port in self.compiled.inputs}
        self._outputs = outputs

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Results are copies. Floats that numpy lacks travel as unsigned integers of their width."""
        self._request.infer({name: self._tensor(name, array) for name, array in inputs.items()})
        return {name: self._array(self._request.get_output_tensor(i)) for i, name in enumerate(self._outputs)}

    def _tensor(self, name: str, array: np.ndarray) -> Any:
        array = np.ascontiguousarray(array) if array.ndim else array
        storage = _STORAGE.get(self._inputs[name].to_string())
        if storage is None:
            return array
        return self._openvino.Tensor(array.view(storage), self._openvino.Shape(array.shape), self._inputs[name])

    def _array(self, tensor: Any) -> np.ndarray:
        storage = _STORAGE.get(tensor.get_element_type().to_string())
        return np.array(tensor.data) if storage is None else np.array(tensor.data).view(storage)


def open_engine(
    data: bytes | memoryview,
    config: Mapping[str, Any] | None = None,
    external: Mapping[str, np.ndarray] | None = None,
) -> Runner:
    """Standard operations go to OpenVINO, own operations to numpy. `external`: weights that stand outside, by name."""
    text, weights = read_engine(data)
    if b'version="trtmc"' in bytes(text):
        return ReferenceEngine(text, weights, external)
    return OpenVinoRunner(text, weights, config, external)


class DecoderSession:
    """`batch` sequences of one length each; `lengths` is all the state there is besides the caches."""

    def __init__(self, runner: Runner, contract: Contract, batch: int = 1) -> None:
        self._runner = runner
        self._links = {link.input: link.output for link in contract.state}
        self.lengths = np.zeros(batch, np.int64)
        specs = {spec.name: spec for spec in contract.inputs}
        self.caches = {
            name: np.zeros([batch if isinstance(d, str) else d for d in specs[name].shape], specs[name].dtype.storage)
            for name in self._links
        }

    def step(self, ids: Sequence[Sequence[int]] | np.ndarray, all_rows: bool = False) -> np.ndarray:
        """Appends ids [batch, n]; logits [batch, vocab] of the last rows, or [batch, n, vocab] of all."""
        tokens = np.asarray(ids, np.int64)
        batch, count = tokens.shape
        rows = np.arange(batch * count) if all_rows else np.arange(batch) * count + count - 1
        inputs = {
            "input_ids": tokens,
            "position_ids": self.lengths[:, None] + np.arange(count)[None, :],
            "write_indices": self.lengths.astype(np.int32),
            "kv_lengths": (self.lengths + count).astype(np.int32),
            "logit_rows": rows.astype(np.int64),
            **self.caches,
        }
        outputs = self._runner.run(inputs)
        for source, target in self._links.items():
            self.caches[source] = outputs.get(target, self.caches[source])
        self.lengths = self.lengths + count
        logits = outputs["logits"]
        return logits.reshape(batch, count, -1) if all_rows else logits.reshape(batch, -1)

    def rollback(self, lengths: int | Sequence[int]) -> None:
        """Keeps the first `lengths` tokens of each sequence; what lies behind them in the caches is never read."""
        self.lengths = np.broadcast_to(np.asarray(lengths, np.int64), self.lengths.shape).copy()

    def greedy(self, prompt: Sequence[int], count: int, chunk: int | None = None) -> list[int]:
        """Continues one prompt by the most likely token, `count` times; the prompt may be fed in chunks."""
        size = chunk or len(prompt)
        for start in range(0, len(prompt), size):
            logits = self.step([list(prompt[start : start + size])])
        produced = [int(logits[0].argmax())]
        while len(produced) < count:
            produced.append(int(self.step([[produced[-1]]])[0].argmax()))
        return produced
