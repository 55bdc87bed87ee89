"""Keys that every Transformers `config.json` may carry, whatever the model: what they mean for a build, said once.

Families call `read_common` first and then read what describes their own architecture.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from trtmc.core.config import StrictConfig
from trtmc.core.dtype import DType

_DTYPES = {"float32": DType.F32, "float16": DType.F16, "bfloat16": DType.BF16}

IGNORED: Mapping[str, str] = {
    "_attn_implementation": "chooses a kernel in Transformers",
    "_attn_implementation_autoset": "chooses a kernel in Transformers",
    "_flash_attn_2_enabled": "chooses a kernel in Transformers",
    "_name_or_path": "provenance only",
    "attention_dropout": "training only",
    "gradient_checkpointing": "training only",
    "id2label": "names of classes, for classifiers",
    "initializer_range": "training only",
    "is_llama_config": "marker of an export script",
    "keys_to_ignore_at_inference": "training only",
    "label2id": "names of classes, for classifiers",
    "max_length": "a generation limit; the runtime has its own",
    "max_sequence_length": "older name of max_position_embeddings, unused by Transformers",
    "output_attentions": "asks Transformers for more outputs",
    "output_hidden_states": "asks Transformers for more outputs",
    "return_dict": "form of Transformers' outputs",
    "tokenizer_class": "the tokenizer comes from tokenizer.json",
    "transformers.js_config": "settings of another runtime",
    "transformers_version": "provenance only",
    "unsloth_fixed": "marker of a training tool",
    "unsloth_version": "provenance only",
    "use_cache": "a build always has a cache",
}

EXPECTED: Mapping[str, object] = {
    "add_cross_attention": False,
    "chunk_size_feed_forward": 0,
    "is_decoder": False,
    "is_encoder_decoder": False,
    "pretraining_tp": 1,
    "rope_interleaved": False,
}


@dataclass(frozen=True)
class CommonConfig:
    """The shared part of a config: the checkpoint's own type, if it names one."""

    model_type: str
    dtype: DType | None


def read_common(config: StrictConfig, model_types: Collection[str], architectures: Collection[str]) -> CommonConfig:
    """Reads or accounts for the shared keys; `core.text_assets` reads the token ids from the same file."""
    model_type = config.choice("model_type", model_types)
    named = config.items("architectures", default=None)
    if named is not None and (len(named) != 1 or named[0] not in architectures):
        raise config.unsupported("architectures", f"is {named!r}; implemented is {' or '.join(sorted(architectures))}")
    new, old = (config.string(key, default=None) for key in ("dtype", "torch_dtype"))
    dtype = _dtype(config, "torch_dtype", old) if new is None else _dtype(config, "dtype", new)
    config.ignore(IGNORED)
    config.ignore(dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), "read with the tokenizer's files"))
    config.expect(EXPECTED)
    return CommonConfig(model_type, dtype)


def _dtype(config: StrictConfig, key: str, value: str | None) -> DType | None:
    if value is None or value == "auto":
        return None
    name = value.removeprefix("torch.")
    if name not in _DTYPES:
        raise config.unsupported(key, f"is {value!r}; implemented are {', '.join(sorted(_DTYPES))}")
    return _DTYPES[name]
