"""Small good bundles and the tools to break them: bytes in, bytes out, no reader and no writer of the product involved.

`assemble` puts a file together from a header's JSON text and section contents, exactly as the format page says and
without asking whether the result makes sense. It is the corpus' own idea of the format, so that a mistake in the
product's layout code does not hide itself.
"""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from typing import Any

Json = Any  # test data is taken apart and rebuilt freely

ALIGNMENT = 4096
PREAMBLE = struct.Struct("<8sIIQ32sQ")


def canonical(value: Json) -> bytes:
    """Canonical JSON for values without unusual floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def aligned(offset: int) -> int:
    """The next multiple of 4096."""
    return (offset + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


SECTIONS: dict[str, bytes] = {
    "engines/llm.engine": b"engine bytes\n" * 3,
    "weights/checkpoint": bytes(range(24)),
    "text/tokenizer.json": b"{}",
}


def header() -> dict[str, Json]:
    """A header with every kind of record; its sections are those of SECTIONS, placed right."""
    contract = {
        "inputs": [
            {"name": "input_ids", "dtype": "int64", "shape": ["batch", "sequence"]},
            {"name": "k_cache_0", "dtype": "float16", "shape": ["batch", 2, 64, 12]},
        ],
        "outputs": [
            {"name": "logits", "dtype": "float32", "shape": ["rows", 512]},
            {"name": "k_out_0", "dtype": "float16", "shape": ["batch", 2, 64, 12]},
        ],
        "state": [{"input": "k_cache_0", "output": "k_out_0"}],
        "profiles": [{"name": "context", "dims": {"batch": [1, 1, 1], "sequence": [1, 16, 64], "rows": [1, 1, 64]}}],
        "limits": {"max_batch": 1, "max_sequence": 64},
    }
    value: dict[str, Json] = {
        "kind": "native",
        "family": "llama",
        "task": "text_generation_causal",
        "runtime_strategy": "llama_decoder_kv_cache",
        "targets": [
            {
                "name": "cpu_x86_64",
                "compiler": "openvino",
                "compiler_version": "2026.4.1",
                "cuda_version": None,
                "compute_capability": None,
                "os": "linux",
                "arch": "x86_64",
            }
        ],
        "components": [
            {
                "name": "llm",
                "engines": [
                    {
                        "target": "cpu_x86_64",
                        "section": "engines/llm.engine",
                        "contract": contract,
                        "weights": [
                            {"input": "up", "dtype": "float16", "shape": [3, 4], "tensor": "mlp.up", "steps": ["cast"]},
                            {
                                "input": "up_flat",
                                "dtype": "float32",
                                "shape": [1, 12],
                                "tensor": "mlp.up",
                                "steps": ["reshape", "cast"],
                            },
                        ],
                        "options": {"precision": "fp16", "threads": 2, "scale": 0.5, "strip": False, "seed": None},
                    }
                ],
            }
        ],
        "weights": {
            "section": "weights/checkpoint",
            "tensors": [{"name": "mlp.up", "dtype": "bfloat16", "shape": [3, 4], "offset": 0}],
        },
        "text_generation": {
            "vocab_size": 512,
            "max_sequence": 64,
            "bos_token_id": 1,
            "eos_token_ids": [2, 0],
            "pad_token_id": None,
            "sampling": {
                "do_sample": True,
                "temperature": 0.7,
                "top_k": 20,
                "top_p": 0.95,
                "min_p": None,
                "repetition_penalty": 1.0,
            },
        },
        "assets": {"tokenizer": "text/tokenizer.json", "tokenizer_config": None, "chat_template": None},
        "sections": [],
        "provenance": {
            "checkpoint": {
                "version": 1,
                "source": "wheel:example==1.0",
                "revision": "r1",
                "files": [
                    {"name": "config.json", "size": 20, "sha256": digest(b"config")},
                    {"name": "model.safetensors", "size": 4096, "sha256": digest(b"model")},
                ],
            },
            "builder": {"version": "0.1.0", "source_sha256": digest(b"builder")},
        },
    }
    return with_sections(value, SECTIONS)


def with_sections(value: dict[str, Json], sections: dict[str, bytes]) -> dict[str, Json]:
    """A copy whose `sections` describe these contents at their right places."""
    value = copy.deepcopy(value)
    header_length = 0
    while True:
        offset, records = aligned(PREAMBLE.size + header_length), []
        for name, data in sections.items():
            media_type = "application/json" if name.endswith(".json") else "application/octet-stream"
            records.append(
                {"name": name, "offset": offset, "length": len(data), "sha256": digest(data), "media_type": media_type}
            )
            offset = aligned(offset + len(data))
        value["sections"] = records
        if len(canonical(value)) == header_length:
            return value
        header_length = len(canonical(value))


def assemble(text: bytes, sections: dict[str, bytes]) -> bytes:
    """Preamble, header text, and the sections one after the other, zero padded."""
    body = b""
    start = aligned(PREAMBLE.size + len(text))
    for data in sections.values():
        body += data + bytes(-len(data) % ALIGNMENT)
    preamble = PREAMBLE.pack(b"TRTMCBDL", 1, 0, len(text), hashlib.sha256(text).digest(), start + len(body))
    return preamble + text + bytes(start - PREAMBLE.size - len(text)) + body


def good() -> bytes:
    """The sample bundle."""
    return assemble(canonical(header()), SECTIONS)


def with_preamble(data: bytes, **changes: int | bytes) -> bytes:
    """The same file with some fields of its preamble replaced."""
    names = ("magic", "version", "flags", "header_length", "header_sha256", "file_length")
    fields: dict[str, Any] = dict(zip(names, PREAMBLE.unpack_from(data), strict=True))
    return PREAMBLE.pack(*(fields | changes).values()) + data[PREAMBLE.size :]


EXAMPLE_SECTIONS = {"engines/llm.engine": b"engine\n"}


def example() -> bytes:
    """The worked example of the format page: as little as a bundle can hold."""
    value = header() | {
        "family": "example",
        "task": "embedding",
        "runtime_strategy": "example_encoder",
        "text_generation": None,
        "weights": None,
    }
    engine = value["components"][0]["engines"][0]
    engine |= {"weights": [], "options": {"precision": "fp16"}}
    contract = engine["contract"]
    contract["inputs"] = [{"name": "input_ids", "dtype": "int64", "shape": [1, "sequence"]}]
    contract["outputs"] = [{"name": "embedding", "dtype": "float32", "shape": [1, 384]}]
    contract |= {"state": [], "profiles": [{"name": "only", "dims": {"sequence": [1, 16, 64]}}]}
    value["assets"] = dict.fromkeys(value["assets"])
    value["provenance"]["checkpoint"]["files"].pop()
    return assemble(canonical(with_sections(value, EXAMPLE_SECTIONS)), EXAMPLE_SECTIONS)
