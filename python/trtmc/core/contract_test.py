"""Contracts, profiles and targets: round trips and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trtmc.core.contract import Contract, DimRange, Limits, Profile, StateLink, TensorSpec
from trtmc.core.dtype import DType
from trtmc.core.errors import BadInput, InternalError, UsageError
from trtmc.core.profiles import decoder_profiles, profile_shapes
from trtmc.core.target import TargetInfo, named_target

IDS = TensorSpec("ids", DType.I64, ("batch", "sequence"))
CACHE = ("batch", 2, 64, 8)
LIMITS = Limits(max_batch=3, max_sequence=64)


def contract(**change: Any) -> Contract:
    values: dict[str, Any] = {
        "inputs": (IDS, TensorSpec("k", DType.BF16, CACHE)),
        "outputs": (TensorSpec("logits", DType.F32, ("rows", 97)), TensorSpec("k_out", DType.BF16, CACHE)),
        "state": (StateLink("k", "k_out"),),
        "profiles": decoder_profiles(LIMITS),
        "limits": LIMITS,
        "report": {"precision": "bf16"},
    }
    return Contract(**{**values, **change})


def test_round_trip_is_exact() -> None:
    value = json.loads(json.dumps(contract().to_json()))
    assert Contract.from_json(value) == contract()
    assert value["inputs"][0] == {"name": "ids", "dtype": "int64", "shape": ["batch", "sequence"]}
    assert value["state"] == [{"input": "k", "output": "k_out"}]
    assert value["profiles"][1] == {
        "name": "generation",
        "dims": {"batch": [1, 1, 3], "sequence": [1, 1, 1], "rows": [1, 1, 3]},
    }


def test_profiles_of_a_decoder() -> None:
    context, generation = decoder_profiles(LIMITS)
    assert context.dims == {"batch": DimRange(1, 1, 3), "sequence": DimRange(1, 64, 64), "rows": DimRange(1, 1, 192)}
    assert profile_shapes([IDS], generation) == {"ids": ((1, 1), (1, 1), (3, 1))}
    assert profile_shapes([TensorSpec("fixed", DType.F32, (4,))], context) == {}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"inputs": (IDS, IDS)}, "contract.duplicate"),
        ({"state": (StateLink("k", "logits"),)}, "contract.state"),
        ({"state": (StateLink("k", "absent"),)}, "contract.state"),
        ({"profiles": (Profile("context", {"batch": DimRange(1, 1, 1)}),)}, "contract.profile"),
    ],
)
def test_contradictions(change: dict[str, Any], code: str) -> None:
    with pytest.raises(InternalError) as caught:
        contract(**change)
    assert caught.value.code == code


@pytest.mark.parametrize("sizes", [(0, 1, 1), (2, 1, 3), (1, 4, 3)])
def test_ranges_rise(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InternalError, match="must rise"):
        DimRange(*sizes)


def test_dimension_without_a_range() -> None:
    with pytest.raises(InternalError, match="no range for dimension 'sequence' of 'ids'"):
        profile_shapes([IDS], Profile("p", {"batch": DimRange(1, 1, 1)}))


@pytest.mark.parametrize(
    "edit",
    [
        lambda v: v.pop("state"),
        lambda v: v.update(extra=1),
        lambda v: v["inputs"][0].update(dtype="float31"),
        lambda v: v["inputs"][0].pop("name"),
        lambda v: v["limits"].update(max_batch=1, other=2),
        lambda v: v["profiles"][0]["dims"].update(batch=[3, 2, 1]),
        lambda v: v["profiles"][0]["dims"].update(batch=[1, 2]),
    ],
)
def test_malformed_contract_files(edit: Any) -> None:
    value = json.loads(json.dumps(contract().to_json()))
    edit(value)
    with pytest.raises(BadInput, match=r"llm\.json: not a valid engine contract") as caught:
        Contract.from_json(value, "llm.json")
    assert caught.value.code == "contract.schema"


TARGET = TargetInfo("sm_89", "tensorrt_rtx", "1.7.1.116", "13.0", "8.9")


def test_target_round_trip(tmp_path: Path) -> None:
    path = tmp_path / "target.json"
    path.write_text(json.dumps(TARGET.to_json()))
    assert TargetInfo.read(path) == TARGET


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("{", "not JSON"),
        ("[]", "found list"),
        (json.dumps({**TARGET.to_json(), "extra": 1}), "'extra'"),
        (json.dumps({**TARGET.to_json(), "arch": None}), "'arch' must be a non-empty string, found None"),
        (json.dumps({**TARGET.to_json(), "cuda_version": 13}), "'cuda_version' must be a non-empty string or null"),
    ],
)
def test_malformed_target(tmp_path: Path, text: str, piece: str) -> None:
    path = tmp_path / "target.json"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        TargetInfo.read(path)
    assert caught.value.code == "target.schema"
    assert piece in caught.value.message


@pytest.mark.parametrize(
    ("edit", "key"),
    [
        ({"compiler_version": "1.2.3"}, "compiler_version"),
        ({"compute_capability": "7.5"}, "compute_capability"),
        ({"name": "mine", "compiler_version": "1.2.3"}, "compiler_version"),
    ],
)
def test_target_that_is_not_what_its_name_says(tmp_path: Path, edit: dict[str, str], key: str) -> None:
    path = tmp_path / "target.json"
    path.write_text(json.dumps({**TARGET.to_json(), **edit}))
    with pytest.raises(BadInput, match=f"'{key}' of target") as caught:
        TargetInfo.read(path)
    assert caught.value.code == "target.differs" and str(path) in caught.value.message


def test_target_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "target.json"
    path.write_text(json.dumps({**TARGET.to_json(), "name": "mine"}))
    assert TargetInfo.read(path).name == "mine"


def test_missing_target_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        TargetInfo.read(tmp_path / "target.json")


def test_named_targets() -> None:
    assert named_target("cpu_x86_64").compiler == "openvino"
    assert named_target("sm_89").compute_capability == "8.9"
    with pytest.raises(UsageError, match="there is no target 'sm_1'; known are cpu_x86_64, rtx_portable, sm_100"):
        named_target("sm_1")
