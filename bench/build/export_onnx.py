"""The usual way's first half: a Hugging Face model to ONNX with a growing KV cache. Runs in the exporter's environment.

    python export_onnx.py --checkpoint FOLDER --out model.onnx --exporter torchscript|dynamo

Prints one JSON object: seconds of loading and of exporting.
"""

from __future__ import annotations

import argparse
import json
import time

START = time.monotonic()

import torch  # noqa: E402 - importing it is part of what is timed
from transformers import AutoModelForCausalLM, DynamicCache  # noqa: E402

PAST, NEW = 5, 3  # sizes of the example; both dimensions are dynamic in the result


class WithCache(torch.nn.Module):
    """Ids, mask, positions and past keys and values in; logits and the present ones out."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, position_ids, *past):
        pairs = [(past[i], past[i + 1]) for i in range(0, len(past), 2)]
        out = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=DynamicCache(pairs),
            use_cache=True,
        )
        present = [tensor for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)]
        return (out.logits, *present)


def example(config) -> tuple[torch.Tensor, ...]:
    """Inputs of one call."""
    shape = (1, config.num_key_value_heads, PAST, config.head_dim)
    past = [torch.zeros(shape, dtype=torch.float16) for _ in range(2 * config.num_hidden_layers)]
    ids = torch.zeros(1, NEW, dtype=torch.long)
    return ids, torch.ones(1, PAST + NEW, dtype=torch.long), torch.arange(PAST, PAST + NEW)[None], *past


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--exporter", required=True, choices=["torchscript", "dynamo"])
    arguments = parser.parse_args()
    model = AutoModelForCausalLM.from_pretrained(
        arguments.checkpoint, dtype=torch.float16, attn_implementation="sdpa"
    ).eval()
    loaded = time.monotonic()
    sides = [f"{i}.{kind}" for i in range(model.config.num_hidden_layers) for kind in ("key", "value")]
    names = ["input_ids", "attention_mask", "position_ids", *(f"past.{side}" for side in sides)]
    outputs = ["logits", *(f"present.{side}" for side in sides)]
    settings: dict[str, object] = {"input_names": names, "output_names": outputs}
    if arguments.exporter == "dynamo":
        dynamic = torch.export.Dim.DYNAMIC
        shapes = ({1: dynamic}, {1: dynamic}, {1: dynamic}, tuple({2: dynamic} for _ in sides))
        settings |= {"dynamo": True, "dynamic_shapes": shapes, "external_data": True, "optimize": True}
    else:
        axes = {"input_ids": {1: "new"}, "position_ids": {1: "new"}, "attention_mask": {1: "total"}}
        axes |= {f"past.{side}": {2: "past"} for side in sides} | {f"present.{side}": {2: "total"} for side in sides}
        settings |= {"dynamo": False, "dynamic_axes": axes | {"logits": {1: "new"}}, "opset_version": 18}
    with torch.no_grad():
        torch.onnx.export(WithCache(model), example(model.config), arguments.out, **settings)
    done = time.monotonic()
    print(json.dumps({"load": loaded - START, "export": done - loaded}))


if __name__ == "__main__":
    main()
