"""Tokenizer files and text-generation defaults of a checkpoint, read and checked for the bundle.

Defaults follow Transformers: a generation_config.json decides alone, config.json only where there is none. A setting
that would change the output and is not implemented is refused by name. Knows the files' formats, no model and no
bundle.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trtmc.core.checkpoint import CONFIG, Checkpoint
from trtmc.core.config import StrictConfig
from trtmc.core.errors import BadInput, Unsupported

GENERATION = "generation_config.json"
TOKENIZER = "tokenizer.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
SPECIAL_TOKENS = "special_tokens_map.json"
TEMPLATE = "chat_template.jinja"

_NO_EFFECT = {
    "_from_model_config": "says where the file came from",
    "cache_implementation": "chooses a cache class in Transformers",
    "disable_compile": "chooses how Transformers runs",
    "early_stopping": "beam search only",
    "length_penalty": "beam search only",
    "low_memory": "chooses how Transformers runs",
    "max_length": "the runtime has its own limit",
    "max_matching_ngram_size": "assisted decoding only",
    "max_new_tokens": "the runtime has its own limit",
    "output_attentions": "asks Transformers for more outputs",
    "output_hidden_states": "asks Transformers for more outputs",
    "output_logits": "asks Transformers for more outputs",
    "output_scores": "asks Transformers for more outputs",
    "prefill_chunk_size": "chooses how Transformers runs",
    "return_dict_in_generate": "form of Transformers' outputs",
    "transformers_version": "provenance only",
    "trust_remote_code": "chooses how Transformers loads",
    "use_cache": "a build always has a cache",
}

_NEUTRAL = {
    "bad_words_ids": [],
    "begin_suppress_tokens": [],
    "diversity_penalty": 0.0,
    "encoder_no_repeat_ngram_size": 0,
    "encoder_repetition_penalty": 1.0,
    "epsilon_cutoff": 0.0,
    "eta_cutoff": 0.0,
    "guidance_scale": 1.0,
    "is_assistant": False,
    "min_length": 0,
    "min_new_tokens": 0,
    "no_repeat_ngram_size": 0,
    "num_beam_groups": 1,
    "num_beams": 1,
    "num_return_sequences": 1,
    "remove_invalid_values": False,
    "renormalize_logits": False,
    "suppress_tokens": [],
    "token_healing": False,
    "typical_p": 1.0,
}


@dataclass(frozen=True)
class DefaultTokens:
    """Token ids that Transformers assumes for a model type whose config.json lacks the keys."""

    bos: int | None = None
    eos: int | None = None


@dataclass(frozen=True)
class SamplingDefaults:
    """The checkpoint's own settings; None where it has none."""

    do_sample: bool | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None


@dataclass(frozen=True)
class TextArtifacts:
    """What a text-generation bundle needs besides engines; paths are the checkpoint's files, None where it has none."""

    vocab_size: int
    max_sequence: int
    bos_token_id: int | None
    eos_token_ids: tuple[int, ...]
    pad_token_id: int | None
    sampling: SamplingDefaults
    tokenizer: Path | None
    tokenizer_config: Path | bytes | None
    chat_template: bytes | None


def read_text_artifacts(
    checkpoint: Checkpoint, *, vocab_size: int, max_sequence: int, defaults: DefaultTokens
) -> TextArtifacts:
    """Reads and checks everything; refuses a tokenizer that can produce ids the model has no row for."""
    bos, eos, pad = _token_ids(checkpoint, defaults)
    for what, token in (("bos_token_id", bos), ("pad_token_id", pad), *(("eos_token_id", t) for t in eos)):
        if token is not None and token >= vocab_size:
            raise BadInput(
                "tokenizer.special_id",
                f"{checkpoint.folder}: '{what}' is {token}, but the model's vocabulary ends at {vocab_size - 1}",
            )
    tokenizer = _tokenizer(checkpoint, vocab_size)
    settings = checkpoint.json(TOKENIZER_CONFIG) if checkpoint.has(TOKENIZER_CONFIG) else {}
    return TextArtifacts(
        vocab_size=vocab_size,
        max_sequence=max_sequence,
        bos_token_id=bos,
        eos_token_ids=eos,
        pad_token_id=pad,
        sampling=_sampling(checkpoint),
        tokenizer=tokenizer,
        tokenizer_config=_tokenizer_config(checkpoint, settings),
        chat_template=_chat_template(checkpoint, settings),
    )


def _token_ids(checkpoint: Checkpoint, defaults: DefaultTokens) -> tuple[int | None, tuple[int, ...], int | None]:
    if checkpoint.has(GENERATION):
        source, defaults = _generation(checkpoint), DefaultTokens()
    else:
        source = StrictConfig(checkpoint.json(CONFIG), str(checkpoint.path(CONFIG)))
    bos = source.integer("bos_token_id", default=None if source.has_key("bos_token_id") else defaults.bos)
    pad = source.integer("pad_token_id", default=None, minimum=-1)  # old exports write -1 for none
    return bos, _eos_ids(source, defaults), None if pad == -1 else pad


def _eos_ids(source: StrictConfig, defaults: DefaultTokens) -> tuple[int, ...]:
    value = source.any("eos_token_id")
    if value is None:
        absent = defaults.eos is not None and not source.has_key("eos_token_id")
        return (defaults.eos,) if absent and defaults.eos is not None else ()
    ids = value if isinstance(value, list) else [value]
    if not all(type(token) is int and token >= 0 for token in ids):
        raise source.bad("eos_token_id", f"must be a token id or a list of them, found {value!r}")
    return tuple(dict.fromkeys(ids))


def _generation(checkpoint: Checkpoint) -> StrictConfig:
    return StrictConfig(checkpoint.json(GENERATION), str(checkpoint.path(GENERATION)))


def _sampling(checkpoint: Checkpoint) -> SamplingDefaults:
    if not checkpoint.has(GENERATION):
        return SamplingDefaults()
    source = _generation(checkpoint)
    sampling = SamplingDefaults(
        do_sample=source.boolean("do_sample", default=None),
        temperature=source.number("temperature", default=None, above=-1e-300),
        top_k=source.integer("top_k", default=None),
        top_p=source.number("top_p", default=None, above=0),
        min_p=source.number("min_p", default=None, above=-1e-300),
        repetition_penalty=source.number("repetition_penalty", default=None, above=0),
    )
    for key, value in (("top_p", sampling.top_p), ("min_p", sampling.min_p)):
        if value is not None and value > 1:
            raise source.bad(key, f"must not be greater than 1, found {value:g}")
    source.ignore(_NO_EFFECT)
    source.ignore(dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), "read as token ids"))
    source.expect(_NEUTRAL)
    source.finish()
    return sampling


def _tokenizer(checkpoint: Checkpoint, vocab_size: int) -> Path | None:
    if not checkpoint.has(TOKENIZER):
        other = next(
            (n for n in ("tokenizer.model", "vocab.json", "vocab.txt", "tekken.json") if checkpoint.has(n)), None
        )
        if other:
            raise Unsupported(
                "tokenizer.format",
                f"{checkpoint.path(other)}: only {TOKENIZER} is read; convert it, e.g. by saving the tokenizer "
                "with Transformers",
            )
        return None
    path = checkpoint.path(TOKENIZER)
    token, highest = _highest_id(checkpoint.json(TOKENIZER), path)
    if highest >= vocab_size:
        raise BadInput(
            "tokenizer.vocabulary",
            f"{path}: token {token!r} has id {highest}, but the model's vocabulary ends at {vocab_size - 1} "
            f"('vocab_size' in {CONFIG}); tokenizer and model do not belong together",
        )
    return path


def _highest_id(tokenizer: dict[str, Any], path: Path) -> tuple[str, int]:
    model = tokenizer.get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if isinstance(vocabulary, dict):
        pairs = list(vocabulary.items())
    elif isinstance(vocabulary, list):
        pairs = [(entry[0] if isinstance(entry, list) and entry else "", i) for i, entry in enumerate(vocabulary)]
    else:
        raise BadInput("tokenizer.json", f"{path}: 'model.vocab' must be an object or a list")
    added = tokenizer.get("added_tokens") or []
    if not isinstance(added, list) or not all(isinstance(t, dict) for t in added):
        raise BadInput("tokenizer.json", f"{path}: 'added_tokens' must be a list of objects")
    pairs += [(token.get("content"), token.get("id")) for token in added]
    if not pairs or not all(type(number) is int and number >= 0 for _, number in pairs):
        raise BadInput("tokenizer.json", f"{path}: every token needs a whole-number id")
    return max(pairs, key=lambda pair: pair[1])


def _tokenizer_config(checkpoint: Checkpoint, settings: dict[str, Any]) -> Path | bytes | None:
    """The file; one from before `added_tokens_decoder` gets its special tokens from special_tokens_map.json."""
    older = "added_tokens_decoder" not in settings and checkpoint.has(SPECIAL_TOKENS)
    tokens = {k: v for k, v in checkpoint.json(SPECIAL_TOKENS).items() if k.endswith("_token")} if older else {}
    if any(settings.get(key) != token for key, token in tokens.items()):
        return json.dumps({**settings, **tokens}, ensure_ascii=False, indent=1).encode("utf-8")
    return checkpoint.path(TOKENIZER_CONFIG) if settings else None


def _chat_template(checkpoint: Checkpoint, settings: dict[str, Any]) -> bytes | None:
    """The separate file wins, as in Transformers; the runtime chooses among named templates itself."""
    if checkpoint.has(TEMPLATE):
        return checkpoint.path(TEMPLATE).read_bytes() or None
    value = settings.get("chat_template")
    if value is None or value == "" or (isinstance(value, list) and all(map(_is_named_template, value))):
        return None
    if not isinstance(value, str):
        raise BadInput(
            "tokenizer.chat_template",
            f"{checkpoint.path(TOKENIZER_CONFIG)}: 'chat_template' must be a string or a list of named templates",
        )
    return value.encode("utf-8")


def _is_named_template(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(entry.get(key), str) for key in ("name", "template"))
