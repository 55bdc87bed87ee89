"""Converts a GGUF file of the llama architecture into a Hugging Face checkpoint folder.

The result has config.json, generation_config.json, model.safetensors, tokenizer.json and tokenizer_config.json (which
carries the chat template). The same input gives the same bytes. Memory stays near one chunk of one tensor: see
gguf_weights. Whatever the file holds that has no place in the result is refused by name.

Example:
    convert_gguf(Path("model.Q4_1.gguf"), Path("out"), "float16")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader

from trtmc.checkpoints.files import JsonValue, filled_folder, write_json
from trtmc.checkpoints.gguf_text import Vocabulary
from trtmc.checkpoints.gguf_weights import MappedTensor, map_tensors
from trtmc.checkpoints.safetensors_writer import SafetensorsWriter, TensorDecl
from trtmc.core.errors import BadInput, Unsupported

_DTYPES: dict[str, tuple[str, np.dtype[Any]]] = {
    "float16": ("F16", np.dtype(np.float16)),
    "float32": ("F32", np.dtype(np.float32)),
}

#: `llama.*` keys that the conversion understands; another one would change the model, so it is refused.
_KNOWN_KEYS = frozenset(
    {
        "block_count",
        "context_length",
        "embedding_length",
        "feed_forward_length",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "attention.layer_norm_rms_epsilon",
        "rope.dimension_count",
        "rope.freq_base",
        "vocab_size",
    }
)


def convert_gguf(src: Path, out: Path, dtype: str = "float16") -> None:
    """Writes the folder `out` (which must not exist, or be empty) from the file `src`; on error nothing is left."""
    if dtype not in _DTYPES:
        raise BadInput("checkpoint.dtype", f"dtype '{dtype}' is not one of {', '.join(sorted(_DTYPES))}")
    reader = _open(src)
    with filled_folder(out) as scratch:
        _convert(src, reader, scratch, dtype)


def _open(src: Path) -> GGUFReader:
    if not src.is_file():
        raise BadInput("checkpoint.missing", f"{src} is no file")
    try:
        return GGUFReader(src)
    except Exception as error:  # the library raises whatever its parsing ran into
        raise BadInput("checkpoint.gguf", f"{src} is no readable GGUF file: {error}") from error


def _convert(src: Path, reader: GGUFReader, out: Path, dtype: str) -> None:
    metadata: dict[str, object] = {key: field.contents() for key, field in reader.fields.items()}
    vocabulary = Vocabulary.from_metadata(metadata)
    config = _config(src, metadata, vocabulary, dtype)
    tensors = map_tensors(reader, int(config["num_attention_heads"]), int(config["num_key_value_heads"]))
    names = {tensor.name for tensor in tensors}
    config["tie_word_embeddings"] = "lm_head.weight" not in names
    config["attention_bias"] = any(name.endswith("o_proj.bias") for name in names)
    config["mlp_bias"] = any(name.endswith("down_proj.bias") for name in names)
    ids = vocabulary.eos_ids()
    generation: dict[str, JsonValue] = {"eos_token_id": ids[0] if len(ids) == 1 else list(ids)}
    generation.update({k: config[k] for k in ("bos_token_id", "pad_token_id") if k in config})
    write_json(out / "config.json", config)
    write_json(out / "generation_config.json", generation)
    write_json(out / "tokenizer.json", vocabulary.tokenizer_json(), compact=True)
    write_json(out / "tokenizer_config.json", vocabulary.tokenizer_config(int(config["max_position_embeddings"])))
    _write_weights(out / "model.safetensors", tensors, dtype)


def _write_weights(path: Path, tensors: Sequence[MappedTensor], dtype: str) -> None:
    spelled, numpy_dtype = _DTYPES[dtype]
    declared = [TensorDecl(tensor.name, spelled, tensor.shape) for tensor in tensors]
    with SafetensorsWriter(path, declared, {"format": "pt"}) as writer:
        for tensor in tensors:
            writer.write(tensor.name, tensor.chunks(numpy_dtype))


def _config(src: Path, metadata: Mapping[str, object], vocabulary: Vocabulary, dtype: str) -> dict[str, JsonValue]:
    architecture = metadata.get("general.architecture")
    if architecture != "llama":
        raise Unsupported("checkpoint.architecture", f"{src}: architecture '{architecture}'; only 'llama' is known")
    values = {key.removeprefix("llama."): value for key, value in metadata.items() if key.startswith("llama.")}
    unknown = sorted(set(values) - _KNOWN_KEYS)
    if unknown:
        raise Unsupported("checkpoint.gguf", f"{src}: key 'llama.{unknown[0]}' is not known to the conversion")
    hidden, heads = _int(src, values, "embedding_length"), _int(src, values, "attention.head_count")
    head_dim = _int(src, values, "attention.key_length", hidden // heads)
    for key in ("attention.value_length", "rope.dimension_count"):
        if _int(src, values, key, head_dim) != head_dim:
            raise Unsupported("checkpoint.gguf", f"{src}: 'llama.{key}' differs from the head size {head_dim}")
    config: dict[str, JsonValue] = {
        "architectures": ["LlamaForCausalLM"],
        "eos_token_id": vocabulary.eos,
        "head_dim": head_dim,
        "hidden_act": "silu",
        "hidden_size": hidden,
        "intermediate_size": _int(src, values, "feed_forward_length"),
        "max_position_embeddings": _int(src, values, "context_length"),
        "model_type": "llama",
        "num_attention_heads": heads,
        "num_hidden_layers": _int(src, values, "block_count"),
        "num_key_value_heads": _int(src, values, "attention.head_count_kv", heads),
        "rms_norm_eps": _float(src, values, "attention.layer_norm_rms_epsilon"),
        "rope_theta": _float(src, values, "rope.freq_base", 10000.0),
        "torch_dtype": dtype,
        "use_cache": True,
        "vocab_size": len(vocabulary.tokens),
    }
    for key, index in (("bos_token_id", vocabulary.bos), ("pad_token_id", vocabulary.pad)):
        if index is not None:
            config[key] = index
    return config


def _int(src: Path, values: Mapping[str, object], key: str, default: int | None = None) -> int:
    value = values.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise BadInput("checkpoint.gguf", f"{src}: 'llama.{key}' is {value!r}, expected a positive integer")
    return value


def _float(src: Path, values: Mapping[str, object], key: str, default: float | None = None) -> float:
    value = values.get(key, default)
    if not isinstance(value, float) or not value > 0:
        raise BadInput("checkpoint.gguf", f"{src}: 'llama.{key}' is {value!r}, expected a positive number")
    return float(str(np.float32(value)))  # GGUF stores float32: the shortest decimal is what its author wrote
