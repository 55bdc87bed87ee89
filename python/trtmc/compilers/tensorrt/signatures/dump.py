"""Prints a TensorRT package's public API as JSON: for each class its attributes, and the signatures of its methods.

    python dump.py PACKAGE [LIBRARY…]      # libraries to load first

A program of its own, since two TensorRT packages cannot be loaded into one process.
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import re
import sys
from typing import Any


def describe(package: Any) -> dict[str, dict[str, list[str]]]:
    """Class name -> attribute name -> signatures (none for what is no method)."""
    return {
        name: {attribute: _signatures(cls, attribute) for attribute in dir(cls) if not attribute.startswith("__")}
        | {"__init__": _signatures(cls, "__init__")}
        for name, cls in inspect.getmembers(package, inspect.isclass)
    }


def _signatures(cls: type, attribute: str) -> list[str]:
    """The lines `name(self: …) -> …` of a bound method's text, one for each overload, without package names."""
    value = inspect.getattr_static(cls, attribute, None)
    if isinstance(value, property) or not callable(getattr(cls, attribute, None)):
        return []
    text = getattr(cls, attribute).__doc__ or ""
    found = re.findall(rf"^(?:\d+\. )?{re.escape(attribute)}(\(.*\) -> .*)$", text, re.MULTILINE)
    return [re.sub(r"tensorrt(_rtx)?(_bindings)?\.", "", line) for line in found]


if __name__ == "__main__":
    for library in sys.argv[2:]:
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)
    json.dump(describe(importlib.import_module(sys.argv[1])), sys.stdout)
