"""What every compiler takes and gives.

Takes a finished network with its contract; gives an engine that can be streamed to a file or into a bundle, the final
contract (a compiler may keep, say, caches in another type than the network does) and a report. Knows no compiler.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from trtmc.compilers.options import Option, OptionSpec
from trtmc.core.contract import Contract
from trtmc.core.errors import ResourceError, UsageError
from trtmc.core.report import Report
from trtmc.core.target import TargetInfo

__all__ = ["CompileOptions", "CompiledEngine", "Compiler", "NetworkSource", "Option", "OptionSpec"]


class NetworkSource(Protocol):
    """A finished network; `trtmc.core.build.NetworkBuild` is one. It keeps the memory of its constants alive."""

    @property
    def network(self) -> Any:
        """The INetworkDefinition."""

    @property
    def builder(self) -> Any:
        """The TensorRT builder that made the network; its logger keeps what TensorRT complained about."""

    @property
    def contract(self) -> Contract:
        """Named tensors, state, profiles and limits as the network declares them."""

    @property
    def report(self) -> Report:
        """Phases and facts so far; compiling adds to it."""

    def release(self) -> None:
        """Gives back the memory of mapped weights; they stay valid and page in again when they are read."""


@dataclass(frozen=True)
class CompileOptions:
    """The target, the compiler's own options as text (`--option name=value`), and a folder for temporary files."""

    target: TargetInfo
    values: Mapping[str, str] = field(default_factory=dict)
    scratch: Path | None = None


class CompiledEngine(ABC):
    """An engine whose bytes are produced while they are written; holds on to its network source until then."""

    def __init__(self, contract: Contract, report: Report) -> None:
        self.contract = contract
        self.report = report

    @property
    @abstractmethod
    def length(self) -> int:
        """Size of the engine file in bytes, known before it is written."""

    @abstractmethod
    def chunks(self) -> Iterator[memoryview]:
        """The engine's bytes in order; may be iterated several times."""

    def write(self, path: Path) -> None:
        """Streams the engine to a file; nothing is left behind if that fails."""
        partial = path.with_name(f".{path.name}.partial")
        try:
            with open(partial, "wb") as file:
                file.writelines(self.chunks())
            os.replace(partial, path)
        except OSError as error:
            raise ResourceError(
                "engine.write",
                f"{path}: can't write an engine of {self.length} bytes ({error.strerror}); "
                "free space or choose another folder",
            ) from error
        finally:
            partial.unlink(missing_ok=True)


class Compiler(ABC):
    """Turns networks into engines for the targets that name it."""

    name: ClassVar[str]
    options: ClassVar[tuple[Option, ...]] = ()

    @abstractmethod
    def compile(self, source: NetworkSource, options: CompileOptions) -> CompiledEngine:
        """Compiles one network. Raises `Unsupported` naming the layer or option that it can't do."""

    def chosen(self, options: CompileOptions) -> dict[str, str]:
        """All options with their values; refuses names and values that this compiler does not have."""
        known = {spec.name: spec for spec in self.options}
        for name, value in options.values.items():
            if name not in known:
                raise UsageError(
                    "compiler.option",
                    f"compiler '{self.name}' has no option '{name}'; it has {', '.join(known) or 'none'}",
                )
            if not known[name].accepts(value):
                raise UsageError(
                    "compiler.option",
                    f"option '{name}' of compiler '{self.name}' is {known[name].allowed}, found '{value}'",
                )
        return {name: options.values.get(name, spec.default) for name, spec in known.items()}
