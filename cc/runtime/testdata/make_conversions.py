"""Writes conversions.json: what PyTorch and NumPy make of weights that are cast, as bits.

    python cc/runtime/testdata/make_conversions.py > cc/runtime/testdata/conversions.json

float16 is NumPy's, bfloat16 PyTorch's. `digests`: SHA-256 of the results, little-endian, for every 16-bit source value
in order, and for float32 sources of every upper half with six lower halves; every NaN counts as one. `float32_cases`
shows the interesting ones: source, float16, bfloat16.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import torch

NAN = {"float32": 0x7FC00000, "float16": 0x7E00, "bfloat16": 0x7FC0}
STORAGE = {"float32": np.uint32, "float16": np.uint16, "bfloat16": np.uint16}
LOWER_HALVES = (0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
CASES = (
    0.0, -0.0, 1.0, 65504.0, 65519.99609375, 65520.0, -65520.0, 1e9, 3.3895313892515355e38, 3.4e38, float("inf"),
    float("-inf"), float("nan"), 2**-14, 2**-14 * (1 - 2**-11), 2**-14 * (1 - 2**-12), 2**-24, 2**-25,
    2**-25 * (1 + 2**-20), 3 * 2**-25, 2**-26, 1e-40, -1e-45, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8,
    1 + 2**-8 + 2**-20, 2**-126, 2**-133, 2**-134,
)  # fmt: skip


def wide(bits: np.ndarray, dtype: str) -> np.ndarray:
    """float32 values of bits of `dtype`."""
    if dtype == "bfloat16":
        return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).to(torch.float32).numpy()
    return bits.view(np.float16 if dtype == "float16" else np.float32).astype(np.float32)


def narrow(values: np.ndarray, dtype: str) -> np.ndarray:
    """Bits of `dtype` of float32 values."""
    if dtype == "bfloat16":
        result = torch.from_numpy(values).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16).copy()
    else:
        with np.errstate(over="ignore"):
            result = values.astype(np.float16 if dtype == "float16" else np.float32).view(STORAGE[dtype]).copy()
    result[np.isnan(values)] = NAN[dtype]
    return result


def digest(bits: np.ndarray, source: str, target: str) -> str:
    """Of all results in order."""
    return hashlib.sha256(narrow(wide(bits, source), target).tobytes()).hexdigest()


def main() -> None:
    """Prints the JSON."""
    short = np.arange(65536, dtype=np.uint16)
    halves = np.array(LOWER_HALVES, np.uint32)
    long = ((np.arange(65536, dtype=np.uint32) << np.uint32(16))[:, None] | halves[None, :]).reshape(-1)
    digests = {
        f"{source} {target}": digest(long if source == "float32" else short, source, target)
        for source in STORAGE
        for target in STORAGE
        if source != target
    }
    values = np.array(CASES, np.float32)
    rows = zip(values.view(np.uint32), narrow(values, "float16"), narrow(values, "bfloat16"), strict=True)
    cases = [[int(x) for x in row] for row in rows]
    print(json.dumps({"lower_halves": LOWER_HALVES, "digests": digests, "float32_cases": cases}, indent=1))


if __name__ == "__main__":
    main()
