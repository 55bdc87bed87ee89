"""The network under construction, kept in a ContextVar so that op signatures stay tensor-first.

`building` opens it, modules push their names with `named`, and ops ask `current`. Outside of `building` an op is an
error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trtmc.core.errors import InternalError

if TYPE_CHECKING:
    from trtmc.ops.lowering.network import NetworkLowering


@dataclass
class BuildScope:
    """Where ops go (`lowering`) and what they are called after (`path`)."""

    lowering: NetworkLowering
    path: list[str] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Dotted path of the module whose forward is running."""
        return ".".join(self.path)


_current: ContextVar[BuildScope | None] = ContextVar("trtmc_build_scope", default=None)


def current() -> BuildScope:
    """The open scope."""
    scope = _current.get()
    if scope is None:
        raise InternalError(
            "ops.no_scope", "ops only work while a network is being built: call them in NetworkModule.forward"
        )
    return scope


@contextmanager
def building(lowering: NetworkLowering) -> Iterator[BuildScope]:
    """Opens a scope; scopes of different networks may nest."""
    scope = BuildScope(lowering)
    token = _current.set(scope)
    lowering.scope = scope
    try:
        yield scope
    finally:
        _current.reset(token)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Adds one name to the path, if a network is being built."""
    scope = _current.get()
    if scope is None or not name:
        yield
        return
    scope.path.append(name)
    try:
        yield
    finally:
        scope.path.pop()
