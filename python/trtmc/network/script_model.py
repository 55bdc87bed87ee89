"""A Python script as a TensorRT network: the user's own code, run as such.

The script defines exactly one of

    def network() -> NetworkModule: ...          # our ops; its parameters are loaded when it returns
    def define(network, trt) -> object: ...      # plain TensorRT calls on an empty, strongly typed network; what it
                                                 # returns is kept, so let it hold the arrays behind trt.Weights

Knows nothing of what either builds.
"""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import tensorrt_rtx as trt

from trtmc.core.errors import BadInput, TrtmcError
from trtmc.network.loaded import LoadedNetwork, empty_network, logger
from trtmc.ops.lowering.lower import lower
from trtmc.ops.module import NetworkModule

_FORMS = "exactly one of 'network()' (returns a NetworkModule) and 'define(network, trt)' (adds TensorRT layers)"


def load_script(path: Path) -> LoadedNetwork:
    """Runs the script and takes its network."""
    if not path.is_file():
        raise BadInput("network.no_file", f"{path}: no such script")
    names = _guarded(path, "running it", lambda: _executed(path))
    found = [name for name in ("network", "define") if callable(names.get(name))]
    if len(found) != 1:
        raise BadInput("network.script", f"{path}: must define {_FORMS}, found {' and '.join(found) or 'neither'}")
    if found == ["network"]:
        return _from_module(path, names["network"])
    return _from_calls(path, names["define"])


def _executed(path: Path) -> dict[str, Any]:
    sys.path.insert(0, str(path.parent.absolute()))  # as `python3 script.py` does
    try:
        return runpy.run_path(str(path), run_name="trtmc_network_script")
    finally:
        sys.path.pop(0)


def _from_module(path: Path, make: Any) -> LoadedNetwork:
    module = _guarded(path, "network()", make)
    if not isinstance(module, NetworkModule):
        kind = type(module).__name__
        raise BadInput("network.script", f"{path}: network() must return a NetworkModule, found {kind}")
    lowered = _guarded(path, "building the module's network", lambda: lower(module))
    return LoadedNetwork(lowered.network, str(path), (lowered, module))


def _from_calls(path: Path, define: Any) -> LoadedNetwork:
    logger().taken()
    network = empty_network()
    kept = _guarded(path, "define()", lambda: define(network, trt))
    if not network.num_outputs:
        said = "; ".join(logger().taken()[:1])
        raise BadInput("network.no_outputs", f"{path}: define() marked no output{f' ({said})' if said else ''}")
    return LoadedNetwork(network, str(path), kept)


def _guarded(path: Path, step: str, action: Any) -> Any:
    """Our errors pass; the script's own get one line that names the place."""
    try:
        return action()
    except TrtmcError:
        raise
    except (Exception, SystemExit) as error:
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
        at = f", line {frames[-1].lineno}" if frames else ""
        if isinstance(error, SyntaxError):
            at = f", line {error.lineno}"
        said = "; ".join(logger().taken()[:1])
        reason = f"{type(error).__name__}: {error}{f' (TensorRT says: {said})' if said else ''}"
        raise BadInput("network.script_failed", f"{path}{at}: {step} failed: {reason}") from error
