"""Every TensorRT name, keyword and argument count that our builder code uses exists in enterprise TensorRT 11 as well.

The bindings of its wheel are imported over empty libraries (no_library.c), so their own signatures are what is
compared: this proves that the code path is written for that API, not that its library builds a good engine.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trtmc.compilers.tensorrt.knobs import KNOBS, tactic_mask
from trtmc.compilers.tensorrt.signatures.used import Use, uses

Api = dict[str, dict[str, list[str]]]

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FILES = sorted(
    path
    for folder in (ROOT / "ops" / "lowering", ROOT / "compilers" / "tensorrt")
    for path in folder.glob("*.py")
    if not path.name.endswith(("_test.py", "_testing.py"))
)
# Receivers that are objects of our own (or files), though a method of theirs is called like one of TensorRT's.
OWN = {"file", "lowering", "self", "super()"}
# Ahead-of-time targets are TensorRT-RTX's own; configuration.py leaves the rest alone for enterprise TensorRT.
RTX_ONLY = {"ComputeCapability", "num_compute_capabilities", "set_compute_capability"}
LIBRARIES = os.environ.get("TRTMC_NO_TENSORRT", "").split()
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="the empty libraries come from the build graph")


def handled(owner: str) -> bool:
    """Whether our code holds objects of this class; others have methods called like those of lists and dicts."""
    own = ("Builder", "IAttention", "IBuilderConfig", "INetworkDefinition", "IOptimizationProfile", "IStreamWriter")
    return owner in (*own, "ITensor", "Weights") or (owner.startswith("I") and owner.endswith("Layer"))


def dump(package: str, libraries: list[str]) -> Api:
    command = [sys.executable, str(HERE / "dump.py"), package, *(str(Path(path).absolute()) for path in libraries)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def rtx() -> Api:
    return dump("tensorrt_rtx", [])


@pytest.fixture(scope="module")
def enterprise() -> Api:
    return dump("tensorrt_bindings", LIBRARIES)


@pytest.fixture(scope="module")
def used(rtx: Api) -> list[Use]:
    """Uses that are about TensorRT: chains below `trt`, and attributes that some class of its API has."""
    names = {name for owner in rtx if handled(owner) for name in rtx[owner]}
    found = [use for use in uses(FILES) if use.path[0] or use.path[1] in names]
    assert len({use.path for use in found}) > 100, "the scan lost something"
    return found


def test_every_name_below_the_package_exists(used: list[Use], rtx: Api, enterprise: Api) -> None:
    chains = {use.path: use.where for use in used if use.path[0] and use.path[0] in rtx}
    missing = {
        path: where
        for path, where in chains.items()
        if path[0] not in RTX_ONLY
        and (path[0] not in enterprise or any(name not in enterprise[path[0]] for name in path[1:2]))
    }
    assert missing == {}
    assert ("BuilderFlag", "WEIGHT_STREAMING") in chains and ("IStreamWriter",) in chains


def test_names_that_are_made_up_at_run_time_exist(enterprise: Api) -> None:
    knobs = {knob.name: knob for knob in KNOBS}
    assert {v.upper() for v in knobs["profiling_verbosity"].values} <= set(enterprise["ProfilingVerbosity"])
    sources = {name.upper() for name in knobs["tactic_sources"].names}
    assert sources <= set(enterprise["TacticSource"]), "enterprise TensorRT lacks a tactic source"
    assert tactic_mask("none") == 0


def test_every_attribute_exists(used: list[Use], rtx: Api, enterprise: Api) -> None:
    names = {use.path[1]: use.where for use in used if not use.path[0]}
    owners = {name: [c for c in rtx if handled(c) and name in rtx[c] and c in enterprise] for name in names}
    missing = {
        name: names[name]
        for name, classes in owners.items()
        if name not in RTX_ONLY and classes and not any(name in enterprise[c] for c in classes)
    }
    assert missing == {}


def test_every_call_fits_a_signature(used: list[Use], rtx: Api, enterprise: Api) -> None:
    wrong = []
    checked = 0
    for use in used:
        if not use.calls or use.stars or use.path[0] or use.path[1] in RTX_ONLY or use.receiver in OWN:
            continue
        classes = [c for c in rtx if handled(c) and rtx[c].get(use.path[1])]
        if not classes:
            continue
        checked += 1
        lines = [line for c in classes for line in enterprise.get(c, {}).get(use.path[1], [])]
        if not any(fits(use, line) for line in lines):
            wrong.append((use, lines))
    assert wrong == []
    assert checked > 60


def test_methods_have_the_same_signatures_in_both(used: list[Use], rtx: Api, enterprise: Api) -> None:
    """Even where a call happens to fit: a parameter that changed its meaning mostly changed its name or type too."""
    different = {
        (owner, name): (rtx[owner][name], enterprise[owner][name])
        for name in {use.path[1] for use in used if use.calls and not use.path[0]}
        for owner in rtx
        if handled(owner) and rtx[owner].get(name) and enterprise.get(owner, {}).get(name)
        if rtx[owner][name] != enterprise[owner][name]
    }
    assert different == {}


def test_what_is_rtx_only_is_used_in_one_place(used: list[Use], enterprise: Api) -> None:
    places = {use.where.split(":")[0] for use in used if RTX_ONLY & set(use.path)}
    assert places == {"configuration.py"}
    known = {name for attributes in enterprise.values() for name in attributes} | set(enterprise)
    assert RTX_ONLY & known == set(), "enterprise TensorRT has it now: take it off the list"


def fits(use: Use, line: str) -> bool:
    """Whether a call fits `(self: A, x: B, y: C = 1) -> D`."""
    parameters = [part for part in _split(line[1 : line.rindex(") ->")]) if part not in ("", "*", "/")]
    names = [part.split(":")[0].split("=")[0].strip().lstrip("*") for part in parameters]
    optional = ["=" in re.sub(r"\[.*?\]", "", part) for part in parameters]
    if names and names[0] == "self":
        names, optional = names[1:], optional[1:]
    if use.positional > len(names) or any(k not in names[use.positional :] for k in use.keywords):
        return False
    given = set(names[: use.positional]) | set(use.keywords)
    return all(name in given or default for name, default in zip(names, optional, strict=True))


def _split(text: str) -> list[str]:
    """Parameters of a signature: commas outside of brackets."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [*parts, current.strip()]


def test_fitting() -> None:
    line = "(self: A, x: B, y: List[int, int] = [1, 2], z: C) -> D"
    call = {"where": "", "path": ("", "f"), "calls": True}
    assert fits(Use(**call, positional=3), line)
    assert fits(Use(**call, positional=1, keywords=("z",)), line)
    assert not fits(Use(**call, positional=1), line)
    assert not fits(Use(**call, positional=4), line)
    assert not fits(Use(**call, positional=1, keywords=("z", "w")), line)
