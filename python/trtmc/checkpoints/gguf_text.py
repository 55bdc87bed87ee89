"""Rebuilds tokenizer.json and tokenizer_config.json from the vocabulary that a GGUF file carries.

Only byte-level BPE vocabularies ("gpt2" in GGUF's words) are known, and only the pre-tokenizers listed in
PRE_TOKENIZERS; any other is refused by name, because a near miss gives plausible text and wrong ids.

This module knows nothing of weights; it maps GGUF metadata to plain JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from trtmc.checkpoints.files import JsonValue
from trtmc.core.errors import BadInput, Unsupported

_Kind = TypeVar("_Kind")


class TokenKind(IntEnum):
    """The values of `tokenizer.ggml.token_type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


def _byte_level(use_regex: bool) -> dict[str, JsonValue]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


#: GGUF's `tokenizer.ggml.pre` → the `pre_tokenizer` entry of tokenizer.json.
PRE_TOKENIZERS: dict[str, JsonValue] = {
    "gpt-2": _byte_level(True),
    "smollm": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, _byte_level(True)]},
}


@dataclass(frozen=True)
class Vocabulary:
    """What a GGUF file says about text, checked."""

    tokens: list[str]
    kinds: list[int]
    merges: list[tuple[str, str]]
    pre: str
    bos: int | None
    eos: int
    pad: int | None
    unk: int | None
    eot: int | None
    add_bos: bool
    add_prefix_space: bool
    chat_template: str | None

    @staticmethod
    def from_metadata(metadata: Mapping[str, object]) -> Vocabulary:
        """Reads and checks the `tokenizer.*` keys."""
        model = metadata.get("tokenizer.ggml.model")
        if model != "gpt2":
            raise Unsupported("checkpoint.tokenizer", f"tokenizer.ggml.model is '{model}'; only 'gpt2' is known")
        pre = metadata.get("tokenizer.ggml.pre", "gpt-2")
        if pre not in PRE_TOKENIZERS:
            known = ", ".join(sorted(PRE_TOKENIZERS))
            raise Unsupported("checkpoint.tokenizer", f"tokenizer.ggml.pre is '{pre}'; known: {known}")
        tokens = _required(metadata, "tokenizer.ggml.tokens", list)
        kinds = _required(metadata, "tokenizer.ggml.token_type", list)
        if len(kinds) != len(tokens) or len(set(tokens)) != len(tokens):
            raise BadInput(
                "checkpoint.tokenizer",
                f"the vocabulary has {len(tokens)} tokens ({len(set(tokens))} different) and {len(kinds)} token types",
            )
        vocabulary = Vocabulary(
            tokens=tokens,
            kinds=kinds,
            merges=[_merge(text) for text in _required(metadata, "tokenizer.ggml.merges", list)],
            pre=str(pre),
            bos=_token_id(metadata, "bos", tokens),
            eos=_required(metadata, "tokenizer.ggml.eos_token_id", int),
            pad=_token_id(metadata, "padding", tokens),
            unk=_token_id(metadata, "unknown", tokens),
            eot=_token_id(metadata, "eot", tokens),
            add_bos=bool(metadata.get("tokenizer.ggml.add_bos_token", False)),
            add_prefix_space=bool(metadata.get("tokenizer.ggml.add_space_prefix", False)),
            chat_template=_optional_text(metadata, "tokenizer.chat_template"),
        )
        _token_id(metadata, "eos", tokens)
        if vocabulary.add_prefix_space:
            raise Unsupported("checkpoint.tokenizer", "tokenizer.ggml.add_space_prefix is set; it is not known here")
        if vocabulary.add_bos and vocabulary.bos is None:
            raise BadInput("checkpoint.tokenizer", "add_bos_token is set, but the file names no bos_token_id")
        return vocabulary

    def eos_ids(self) -> list[int]:
        """The tokens that end an answer: the file's own, its end-of-turn token, and what its template closes with."""
        ids = [self.eos] + ([self.eot] if self.eot is not None else [])
        closing = "<|im_end|>"
        if closing in (self.chat_template or "") and closing in self.tokens:
            ids.append(self.tokens.index(closing))
        return list(dict.fromkeys(ids))

    def added_tokens(self) -> list[dict[str, JsonValue]]:
        """Control and user-defined tokens, in the form of tokenizer.json's `added_tokens`."""
        flags: dict[str, JsonValue] = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
        kinds = (TokenKind.CONTROL, TokenKind.USER_DEFINED)
        return [
            {"id": index, "content": token, **flags, "special": kind == TokenKind.CONTROL}
            for index, (token, kind) in enumerate(zip(self.tokens, self.kinds, strict=True))
            if kind in kinds
        ]

    def tokenizer_json(self) -> dict[str, JsonValue]:
        """The content of tokenizer.json."""
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": list(self.added_tokens()),
            "normalizer": None,
            "pre_tokenizer": PRE_TOKENIZERS[self.pre],
            "post_processor": self._post_processor(),
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {token: index for index, token in enumerate(self.tokens)},
                "merges": [list(merge) for merge in self.merges],
            },
        }

    def _post_processor(self) -> JsonValue:
        if not self.add_bos or self.bos is None:
            return None
        bos = self.tokens[self.bos]
        first: JsonValue = {"SpecialToken": {"id": bos, "type_id": 0}}
        second: JsonValue = {"SpecialToken": {"id": bos, "type_id": 1}}
        text: list[JsonValue] = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
        return {
            "type": "TemplateProcessing",
            "single": [first, text[0]],
            "pair": [first, text[0], second, text[1]],
            "special_tokens": {bos: {"id": bos, "ids": [self.bos], "tokens": [bos]}},
        }

    def tokenizer_config(self, max_length: int) -> dict[str, JsonValue]:
        """The content of tokenizer_config.json."""
        config: dict[str, JsonValue] = {
            "add_bos_token": self.add_bos,
            "add_prefix_space": False,
            "added_tokens_decoder": {
                str(token["id"]): {key: value for key, value in token.items() if key != "id"}
                for token in self.added_tokens()
            },
            "clean_up_tokenization_spaces": False,
            "model_max_length": max_length,
            "tokenizer_class": "PreTrainedTokenizerFast",
        }
        named = {"bos_token": self.bos, "eos_token": self.eos, "pad_token": self.pad, "unk_token": self.unk}
        config.update({key: self.tokens[index] for key, index in named.items() if index is not None})
        if self.chat_template is not None:
            config["chat_template"] = self.chat_template
        return config


def _required(metadata: Mapping[str, object], key: str, kind: type[_Kind]) -> _Kind:
    value = metadata.get(key)
    if not isinstance(value, kind):
        raise BadInput("checkpoint.gguf", f"GGUF key '{key}' is {type(value).__name__}, expected {kind.__name__}")
    return value


def _optional_text(metadata: Mapping[str, object], key: str) -> str | None:
    return _required(metadata, key, str) if key in metadata else None


def _token_id(metadata: Mapping[str, object], name: str, tokens: list[str]) -> int | None:
    key = f"tokenizer.ggml.{name}_token_id"
    if key not in metadata:
        return None
    index = metadata[key]
    if not isinstance(index, int) or not 0 <= index < len(tokens):
        raise BadInput("checkpoint.gguf", f"GGUF key '{key}' is {index!r}, expected an id below {len(tokens)}")
    return index


def _merge(text: str) -> tuple[str, str]:
    left, space, right = text.partition(" ")
    if not space or not left or not right:
        raise BadInput("checkpoint.gguf", f"tokenizer.ggml.merges holds {text!r}, expected two tokens with a space")
    return left, right
