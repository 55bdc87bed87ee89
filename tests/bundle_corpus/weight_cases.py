"""Cases about weights outside of the engines: bindings, steps, stored tensors and their layout."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

from tests.bundle_corpus import sample
from tests.bundle_corpus.case import Case, edited, put
from tests.bundle_corpus.sample import SECTIONS, Json, assemble, canonical

_BINDING = ("components", 0, "engines", 0, "weights", 0)  # float16 [3, 4] from the tensor below: cast
_FLAT = ("components", 0, "engines", 0, "weights", 1)  # float32 [1, 12]: reshape, cast
_TENSOR = ("weights", "tensors", 0)  # bfloat16 [3, 4] at 0, 24 bytes


def weight_cases() -> Iterator[Case]:
    """All of them."""
    yield from _values()
    yield from _bindings()
    yield from _layout()


def _case(name: str, change: Callable[[Json], object], verdict: str) -> Case:
    return Case(f"weights-{name}", edited(change), verdict)


def _values() -> Iterator[Case]:
    bad: list[tuple[tuple[str | int, ...], list[Json], str]] = [
        (("weights", "tensors"), [[]], "bad_value"),
        (("weights", "section"), [""], "bad_value"),
        ((*_TENSOR, "dtype"), ["float64", "int4", "float4_e2m1"], "bad_value"),
        ((*_TENSOR, "shape"), [[0], [-3], [1] * 9, [2**40 + 1]], "bad_value"),
        ((*_TENSOR, "shape"), [["batch"], [1.0]], "wrong_type"),
        ((*_TENSOR, "offset"), [-1], "bad_value"),
        ((*_BINDING, "dtype"), ["float64"], "bad_value"),
        ((*_BINDING, "shape"), [[0], [1] * 9], "bad_value"),
        ((*_BINDING, "shape"), [["batch", 4]], "wrong_type"),
        ((*_BINDING, "steps"), [["transpose"], [""], ["cast"] * 3], "bad_value"),
        ((*_BINDING, "steps"), [[1], "cast", None], "wrong_type"),
    ]
    for path, values, verdict in bad:
        for i, value in enumerate(values):
            yield _case(f"{verdict}-{'.'.join(map(str, path))}-{i}", put(*path, to=value), verdict)


def _bindings() -> Iterator[Case]:
    def again(value: Json) -> None:
        value["weights"]["tensors"].append(copy.deepcopy(value["weights"]["tensors"][0]))

    def unused(value: Json) -> None:
        value["weights"]["tensors"].append({"name": "x", "dtype": "int8", "shape": [1], "offset": 4096})

    yield _case("input-twice", put(*_FLAT, "input", to="up"), "inconsistent")
    yield _case("input-of-the-contract", put(*_BINDING, "input", to="input_ids"), "inconsistent")
    yield _case("tensor-twice", again, "inconsistent")
    yield _case("tensor-unused", unused, "inconsistent")
    yield _case("tensors-without-engines-that-use-them", put(*_BINDING[:-1], to=[]), "inconsistent")
    yield _case("tensor-not-there", put(*_BINDING, "tensor", to="mlp.down"), "missing_weight")
    yield _case("no-tensors-at-all", put("weights", to=None), "missing_weight")
    yield _case("section-not-there", put("weights", "section", to="weights/x"), "missing_section")
    for name, path, steps in (
        ("cast-missing", _BINDING, []),
        ("cast-twice", _BINDING, ["cast", "cast"]),
        ("reshape-needless", _BINDING, ["reshape", "cast"]),
        ("reshape-missing", _FLAT, ["cast"]),
        ("wrong-order", _FLAT, ["cast", "reshape"]),
    ):
        yield _case(f"steps-{name}", put(*path, "steps", to=steps), "weight_steps")
    yield _case("cast-needless", put(*_BINDING, "dtype", to="bfloat16"), "weight_steps")
    yield _case("more-elements", put(*_FLAT, "shape", to=[1, 13]), "weight_steps")
    yield _case("fewer-elements", put(*_FLAT, "shape", to=[11]), "weight_steps")
    yield _case("elements-beyond-64-bits", put(*_FLAT, "shape", to=[2**40] * 8), "weight_steps")
    # 2^64 + 12 elements would be 12 for a reader that wraps around; a product cannot be that, but 2^64 * 12 can be 0.
    yield _case("elements-that-wrap", put(*_FLAT, "shape", to=[2**32, 2**32, 12]), "weight_steps")
    yield _case("cast-to-an-integer", put(*_BINDING, "dtype", to="int32"), "weight_steps")
    yield _case("cast-to-a-narrow-float", put(*_BINDING, "dtype", to="float8_e4m3"), "weight_steps")
    yield _case("cast-from-an-integer", put(*_TENSOR, "dtype", to="int8"), "weight_steps")


def _layout() -> Iterator[Case]:
    def stored(*tensors: tuple[str, str, list[int], int]) -> Callable[[Json], None]:
        """These tensors instead of the one, each bound as it is."""

        def change(value: Json) -> None:
            records = [dict(zip(("name", "dtype", "shape", "offset"), tensor, strict=True)) for tensor in tensors]
            value["weights"]["tensors"] = records
            value["components"][0]["engines"][0]["weights"] = [
                {"input": t["name"], "tensor": t["name"], "dtype": t["dtype"], "shape": t["shape"], "steps": []}
                for t in records
            ]

        return change

    def layout(name: str, *tensors: tuple[str, str, list[int], int], verdict: str = "weights_layout") -> Case:
        return _case(f"layout-{name}", stored(*tensors), verdict)

    yield layout("as-it-is", ("a", "int8", [24], 0), verdict="ok")
    yield layout("scalar", ("a", "int64", [], 0))
    yield layout("shorter-than-the-section", ("a", "int8", [23], 0))
    yield layout("longer-than-the-section", ("a", "int8", [25], 0))
    yield layout("not-at-the-start", ("a", "int8", [16], 8))
    yield layout("overlap", ("a", "int8", [24], 0), ("b", "int8", [24], 0))
    yield layout("close-behind", ("a", "int8", [8], 0), ("b", "int8", [16], 8))
    yield layout("gap", ("a", "int8", [8], 0), ("b", "int8", [16], 8192))
    yield layout("behind-the-section", ("a", "int8", [24], 0), ("b", "int8", [1], 4096))
    yield layout("offset-max", ("a", "int8", [24], 0), ("b", "int8", [1], 2**63 - 1))
    yield layout("enormous", ("a", "float32", [2**40] * 8, 0))
    yield layout("bytes-beyond-63-bits", ("a", "int64", [2**40, 2**21], 0))
    yield layout("bytes-wrap-to-24", ("a", "int8", [2**32, 2**32, 24], 0))
    yield layout("sum-beyond-63-bits", *((n, "int8", [2**40, 2**22], i << 62) for i, n in enumerate("ab")))
    two = sample.header()
    stored(("a", "bool", [3, 5], 0), ("b", "float8_e8m0", [7], 4096))(two)
    sections = {**SECTIONS, "weights/checkpoint": bytes(15) + bytes(4096 - 15) + b"scales!"}
    yield Case("weights-good-two-tensors", assemble(canonical(sample.with_sections(two, sections)), sections), "ok")
