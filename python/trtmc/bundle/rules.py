"""Every way in which a bundle file can be wrong: one stable slug per rule, its exit class, and its meaning.

This table is the contract between the Python reader, the C++ reader (cc/bundle/rules.h) and docs/bundle-format.md;
tests hold the three together. Slugs are never reused or renamed.

This module knows no bytes; it only names faults.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from trtmc.core.errors import BadInput, ResourceError, TrtmcError, Unsupported


class Rule(Enum):
    """A rule that was broken: (slug without the "bundle." prefix, error class, meaning)."""

    NOT_FOUND = ("not_found", BadInput, "there is no such file, it is no regular file, or it may not be read")
    BAD_MAGIC = ("bad_magic", BadInput, "the file does not start with the magic bytes")
    TRUNCATED = ("truncated", BadInput, "the file is shorter than its preamble, or than `file_length` says")
    UNSUPPORTED_VERSION = ("unsupported_version", Unsupported, "`version` is not one that this reader knows")
    UNKNOWN_FLAGS = ("unknown_flags", Unsupported, "`flags` has a bit set that this reader does not know")
    HEADER_TOO_LONG = ("header_too_long", BadInput, "`header_length` is above 16 MiB")
    TRAILING_BYTES = ("trailing_bytes", BadInput, "the file is longer than `file_length` says")
    HEADER_OUT_OF_BOUNDS = ("header_out_of_bounds", BadInput, "the header ends after `file_length`")
    HEADER_SHA256 = ("header_sha256", BadInput, "the header's SHA-256 is not the one in the preamble")
    HEADER_JSON = ("header_json", BadInput, "the header is not JSON: encoding, syntax, or a number out of range")
    HEADER_DEPTH = ("header_depth", BadInput, "arrays and objects of the header nest deeper than 32")
    DUPLICATE_KEY = ("duplicate_key", BadInput, "an object of the header has a key twice")
    HEADER_NOT_CANONICAL = ("header_not_canonical", BadInput, "the header is JSON, but not in canonical form")
    UNKNOWN_KEY = ("unknown_key", BadInput, "an object of the header has a key that its schema lacks")
    MISSING_KEY = ("missing_key", BadInput, "an object of the header lacks a key of its schema")
    WRONG_TYPE = ("wrong_type", BadInput, "a value of the header has the wrong JSON type")
    BAD_VALUE = ("bad_value", BadInput, "a value of the header is outside its allowed set or range")
    INCONSISTENT = ("inconsistent", BadInput, "two values of the header contradict each other")
    SECTION_NAME = ("section_name", BadInput, "a section's name breaks the naming rules, or is a folder of another")
    DUPLICATE_SECTION = ("duplicate_section", BadInput, "two sections have the same name")
    SECTION_MISALIGNED = ("section_misaligned", BadInput, "a section does not start at a multiple of 4096")
    SECTION_OVERLAP = ("section_overlap", BadInput, "a section starts inside the header or the section before it")
    SECTION_GAP = ("section_gap", BadInput, "bytes before a section, or after the last, belong to nothing")
    SECTION_OUT_OF_BOUNDS = ("section_out_of_bounds", BadInput, "a section ends after `file_length`")
    MISSING_SECTION = ("missing_section", BadInput, "the header refers to a section that is not in the list")
    MISSING_WEIGHT = ("missing_weight", BadInput, "an engine's weight refers to a tensor that is not stored")
    WEIGHT_STEPS = ("weight_steps", BadInput, "the steps of a weight do not lead from the stored tensor to its input")
    WEIGHTS_LAYOUT = (
        "weights_layout",
        BadInput,
        "a stored tensor is not at its place, or its section is not their sum",
    )
    NONZERO_PADDING = ("nonzero_padding", BadInput, "a byte of the padding is not zero")
    SECTION_SHA256 = ("section_sha256", BadInput, "a section's content does not have the SHA-256 of the list")
    NO_SUCH_SECTION = ("no_such_section", BadInput, "the caller asked for a section that the bundle lacks")
    SOURCE_CHANGED = ("source_changed", BadInput, "an input file changed while a bundle was being written")
    WRITE_FAILED = ("write_failed", ResourceError, "the bundle could not be written, e.g. because the disk is full")

    def __init__(self, name: str, error: type[TrtmcError], meaning: str) -> None:
        self.slug = f"bundle.{name}"
        self.error = error
        self.meaning = meaning


class Fault(TrtmcError):
    """A broken rule inside the format code, before anyone knows which file it is about; see `at`."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(rule.slug, message)
        self.rule = rule
        self.exit_code = rule.error.exit_code  # type: ignore[misc]  # a fault has the class of its rule

    def at(self, path: Path | str) -> TrtmcError:
        """The user-facing error: names the file."""
        return self.rule.error(self.rule.slug, f"{path}: {self.message}")
