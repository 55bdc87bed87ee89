"""Every error that users are meant to see: one class per kind, one stable slug per rule, one exit code per kind.

Knows nothing about models, files or devices; any module may import it. Raise the subclass whose exit code fits:

    raise BadInput("weights.missing_tensor", "model.safetensors lacks 'lm_head.weight'; download the checkpoint again")

The slug (`code`) is a contract: scripts match on it, and the C++ runtime uses the same slugs for the same rules.
The message is one sentence or two: what failed, where, expected and found, what to do next.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import ClassVar

_SLUG = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)+")


class ExitCode(IntEnum):
    """Process exit codes shared by `trtmc-build` and `trtmc`; documented for users, so never renumbered."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    BAD_INPUT = 3
    UNSUPPORTED = 4
    TARGET_MISMATCH = 5
    MISSING_COMPONENT = 6
    RESOURCE = 7
    INTERRUPTED = 130


class TrtmcError(Exception):
    """Base of all reported errors. Raise a subclass; `code` looks like "area.rule"."""

    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL

    def __init__(self, code: str, message: str) -> None:
        if not _SLUG.fullmatch(code):
            raise ValueError(f"error code {code!r} is not of the form 'area.rule' in lower case")
        super().__init__(message)
        self.code = code
        self.message = message

    def to_json(self) -> dict[str, dict[str, str]]:
        """The object that `--json` prints."""
        return {"error": {"code": self.code, "message": self.message}}


class InternalError(TrtmcError):
    """A broken promise inside this project: never the user's fault."""


class UsageError(TrtmcError):
    """The command line or a call asks for something meaningless."""

    exit_code = ExitCode.USAGE


class BadInput(TrtmcError):
    """A checkpoint, config, bundle or prompt that is broken or contradicts itself."""

    exit_code = ExitCode.BAD_INPUT


class Unsupported(TrtmcError):
    """Well-formed input that asks for something that is not implemented."""

    exit_code = ExitCode.UNSUPPORTED


class TargetMismatch(TrtmcError):
    """The hardware or target at hand is not the one that is needed."""

    exit_code = ExitCode.TARGET_MISMATCH


class MissingComponent(TrtmcError):
    """A library, plugin or package that must be there is not."""

    exit_code = ExitCode.MISSING_COMPONENT


class ResourceError(TrtmcError):
    """Disk, memory or another resource ran out."""

    exit_code = ExitCode.RESOURCE
