"""The usual way's second half: an ONNX file through TensorRT's parser to an engine with two profiles.

    python onnx_engine.py --onnx model.onnx --sm 89 --positions 1024 --out engine

Prints one JSON object: seconds of importing, parsing, building and writing, and the engine's size and layers.
"""

from __future__ import annotations

import argparse
import json
import sys
import time

START = time.monotonic()

import tensorrt_rtx as trt  # noqa: E402 - importing it is part of what is timed


def shape(tensor, new: int, past: int) -> tuple[int, ...]:
    """The shape of an input for `new` ids after `past` ones."""
    sizes = [1 if size < 0 else size for size in tensor.shape]
    if tensor.name.startswith("past"):
        sizes[2] = past
    else:
        sizes[1] = new + past if tensor.name == "attention_mask" else new
    return tuple(sizes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--onnx", required=True)
    parser.add_argument("--sm", required=True)
    parser.add_argument("--positions", type=int, required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    imported = time.monotonic()
    log = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(log)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    reader = trt.OnnxParser(network, log)
    if not reader.parse_from_file(arguments.onnx):
        sys.exit("; ".join(str(reader.get_error(i)) for i in range(reader.num_errors)))
    parsed = time.monotonic()
    config = builder.create_builder_config()
    config.num_compute_capabilities = 1
    config.set_compute_capability(getattr(trt.ComputeCapability, f"SM{arguments.sm}"), 0)
    most = arguments.positions - 1
    prompt, step = ((1, 128, most + 1), (0, 0, most)), ((1, 1, 1), (1, 128, most))
    for new, past in (prompt, step):
        profile = builder.create_optimization_profile()
        for i in range(network.num_inputs):
            tensor = network.get_input(i)
            profile.set_shape(tensor.name, *(shape(tensor, new[k], past[k]) for k in range(3)))
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        sys.exit("TensorRT would not build the network")
    built = time.monotonic()
    with open(arguments.out, "wb") as file:
        file.write(memoryview(plan))
    done = time.monotonic()
    seconds = {"import": imported - START, "parse": parsed - imported, "build": built - parsed, "write": done - built}
    print(json.dumps({**seconds, "layers": network.num_layers, "engine_mb": plan.nbytes / 1e6}))


if __name__ == "__main__":
    main()
