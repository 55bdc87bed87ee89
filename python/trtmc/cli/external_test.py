"""Bundles with external weights: stored once, in the checkpoint's own type, for one target and for several."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trtmc.bundle import read_bundle
from trtmc.bundle.external_weights import external_weights
from trtmc.bundle.stored_weights import stored_bytes
from trtmc.cli import main as entry
from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.core.contract import Contract
from trtmc.core.dtype import DType
from trtmc.core.precision import to_float32
from trtmc.core.target import named_target
from trtmc.core.weights import WeightFiles
from trtmc.testing import Tiny, tiny_llama

Run = Callable[..., tuple[int, dict[str, Any], str]]
PROMPT = [1, 5, 9, 77, 3]
LARGE = 14  # matrices of 64 KiB and more: two layers of seven


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def invoke(*arguments: object) -> tuple[int, dict[str, Any], str]:
        code = entry.run([*map(str, arguments), "--json"])
        captured = capsys.readouterr()
        return code, json.loads(captured.out), captured.err

    return invoke


def model(*, tied: bool = False) -> Tiny:
    return tiny_llama(
        hidden_size=256, intermediate_size=512, vocab_size=400, tie_word_embeddings=tied, dtype="bfloat16"
    )


def built(run: Run, folder: Path, bundle: Path, *arguments: object) -> Path:
    code, value, log = run(folder, "-o", bundle, "--max-sequence", 64, *arguments)
    assert code == 0, f"{value}\n{log}"
    return bundle


def logits(path: Path) -> list[np.ndarray]:
    """All rows of a prompt, and one step behind it."""
    with read_bundle(path, verify="full") as bundle:
        engine = bundle.header.components[0].engines[0]
        value = json.loads(bundle.header.encode())["components"][0]["engines"][0]
        contract = Contract.from_json({**value["contract"], "weights": value["weights"], "report": {}})
        content = bytes(bundle.section(engine.section))
        session = DecoderSession(open_engine(content, external=external_weights(bundle, engine)), contract)
        return [session.step([PROMPT], all_rows=True), session.step([[7]])]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("precision", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("kernels", ["trtmc", "openvino"])
def test_the_same_answers(run: Run, tmp_path: Path, tied: bool, precision: str, kernels: str) -> None:
    folder = model(tied=tied).write(tmp_path / "model", "BF16")
    settings = ("--precision", precision, "--option", f"kernels={kernels}")
    embedded = logits(built(run, folder, tmp_path / "a.bundle", *settings))
    external = logits(built(run, folder, tmp_path / "b.bundle", *settings, "--weights", "external"))
    for one, other in zip(embedded, external, strict=True):
        if kernels == "trtmc":
            assert np.array_equal(one, other)
        else:  # another form of the constant may lead to another order of additions
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_weights_stand_once_and_as_in_the_checkpoint(run: Run, tmp_path: Path) -> None:
    folder = model(tied=True).write(tmp_path / "model", "BF16")
    bundle = built(run, folder, tmp_path / "x.bundle", "--weights", "external", "--precision", "fp16")
    files = WeightFiles(folder)
    with read_bundle(bundle, verify="full") as opened:
        stored, (engine,) = opened.header.weights, opened.header.components[0].engines
        assert stored is not None
        large = [name for name in files.names() if files.entry(name).nbytes >= 65536 and "norm" not in name]
        assert [tensor.name for tensor in stored.tensors] == large
        assert len(large) == LARGE + 1  # the tied head is the embedding
        # The embedding is used as it stands, the matrices of products as [1, out, in].
        assert {binding.steps for binding in engine.weights} == {("cast",), ("reshape", "cast")}
        content = opened.section(stored.section)
        for tensor in stored.tensors:
            found = content[tensor.offset : tensor.offset + stored_bytes(tensor.dtype, tensor.shape)]
            assert bytes(found) == files.array(tensor.name).tobytes()
        sections = {section.name: section.length for section in opened.header.sections}
        content.release()
    weights = sum(files.entry(name).nbytes for name in large)
    assert sections["weights/checkpoint"] < weights * 1.02
    assert sections["engines/llm.engine"] < 200_000
    assert bundle.stat().st_size < weights * 1.2


def test_the_same_bytes_twice(run: Run, tmp_path: Path) -> None:
    first = model().write(tmp_path / "model", "BF16")
    second = model().write_sharded(tmp_path / "elsewhere" / "sharded", 3, "BF16")
    settings = ("--weights", "external", "--precision", "fp16")
    one = built(run, first, tmp_path / "1.bundle", *settings).read_bytes()
    assert one == built(run, first, tmp_path / "2.bundle", *settings).read_bytes()
    sharded = built(run, second, tmp_path / "3.bundle", *settings)
    with read_bundle(tmp_path / "1.bundle") as a, read_bundle(sharded) as b:
        assert a.header.weights == b.header.weights  # how a checkpoint is cut into files does not matter
        assert a.header.sections[1].sha256 == b.header.sections[1].sha256


def test_a_narrowing_that_overflows_names_the_tensor(run: Run, tmp_path: Path) -> None:
    broken = model()
    broken.tensors["model.layers.1.mlp.up_proj.weight"][3, 5] = 1e9
    folder = broken.write(tmp_path / "model", "BF16")
    code, value, _ = run(folder, "-o", tmp_path / "x", "--weights", "external", "--precision", "fp16")
    assert (code, value["error"]["code"]) == (3, "weights.overflow")
    assert "model.layers.1.mlp.up_proj.weight" in value["error"]["message"]
    assert "[3, 5]" in value["error"]["message"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_no_copy_of_the_weights_while_building(tmp_path: Path) -> None:
    """What stays outside has no values in the network, so nothing can read or convert them."""
    from trtmc.core.build import build_network

    folder = model().write(tmp_path / "model", "BF16")
    network = build_network(folder, "llama", precision="fp16", max_sequence=64, weights="external")
    assert network.report.facts["converted_bytes"] < 20_000
    assert network.report.facts["constant_bytes"] < 60_000
    assert network.report.facts["external_bytes"] > 2_000_000
    bindings = network.contract.weights
    assert [binding.input for binding in bindings] == [binding.tensor for binding in bindings]
    assert {spec.name for spec in network.contract.inputs}.isdisjoint(binding.input for binding in bindings)
    assert network.network.num_inputs == len(network.contract.inputs) + len(bindings)


@pytest.fixture
def two_targets(run: Run, tmp_path: Path) -> dict[str, Any]:
    """Engines for the CPU and for a GPU that lacks bfloat16, and what `pack` needs to name them."""
    folder = model().write(tmp_path / "model", "BF16")
    words: dict[str, list[object]] = {"targets": [], "engines": []}
    for name in ("sm_75", "cpu_x86_64"):
        place = tmp_path / name
        place.mkdir()
        (place / "target.json").write_text(json.dumps(named_target(name).to_json()))
        parts = ("--out-engine", place / "llm.engine", "--out-contract", place / "llm.json")
        code, value, log = run(
            "engine", "--family", "llama", "--checkpoint", folder, "--target-info", place / "target.json",
            "--weights", "external", "--max-sequence", 64, *parts,
        )  # fmt: skip
        assert code == 0, f"{value}\n{log}"
        words["targets"] += ["--target-info", place / "target.json"]
        words["engines"] += ["--engine", f"{name}/llm={place}/llm.engine"]
        words["engines"] += ["--contract", f"{name}/llm={place}/llm.json"]
    return {"folder": folder, **words}


def pack(run: Run, parts: dict[str, Any], output: Path) -> tuple[int, dict[str, Any]]:
    common = ("pack", "--family", "llama", "--checkpoint", parts["folder"], "-o", output)
    code, value, _ = run(*common, *parts["targets"], *parts["engines"])
    return code, value


def test_two_targets_share_the_weights(run: Run, tmp_path: Path, two_targets: dict[str, Any]) -> None:
    bundle = tmp_path / "fat.bundle"
    assert pack(run, two_targets, bundle)[0] == 0
    with read_bundle(bundle, verify="full") as opened:
        header = opened.header
        assert [target.name for target in header.targets] == ["cpu_x86_64", "sm_75"]
        cpu, gpu = header.components[0].engines
        assert (cpu.section, gpu.section) == ("engines/cpu_x86_64/llm.engine", "engines/sm_75/llm.engine")
        assert (cpu.options["precision"], gpu.options["precision"]) == ("bf16", "fp16")
        assert [binding.tensor for binding in cpu.weights] == [binding.tensor for binding in gpu.weights]
        assert {binding.steps for binding in cpu.weights} == {(), ("reshape",)}
        assert {binding.steps for binding in gpu.weights} == {("cast",), ("reshape", "cast")}
        name = "model.layers.0.mlp.up_proj.weight"
        narrow = external_weights(opened, gpu)[name]
        wide = to_float32(external_weights(opened, cpu)[name], DType.BF16)
        assert np.array_equal(narrow, wide.astype(np.float16))
        lengths = {section.name: section.length for section in header.sections}
    alone = built(run, two_targets["folder"], tmp_path / "cpu.bundle", "--weights", "external")
    assert bundle.stat().st_size < alone.stat().st_size + lengths["engines/sm_75/llm.engine"] + 16384
    assert all(np.array_equal(a, b) for a, b in zip(logits(bundle), logits(alone), strict=True))
    two_targets["targets"].reverse()
    two_targets["targets"] = [x for i in (1, 3) for x in (two_targets["targets"][i], two_targets["targets"][i - 1])]
    assert pack(run, two_targets, tmp_path / "again.bundle")[0] == 0
    assert (tmp_path / "again.bundle").read_bytes() == bundle.read_bytes()  # the order of the arguments is no matter


def test_what_pack_refuses(run: Run, tmp_path: Path, two_targets: dict[str, Any]) -> None:
    bundle = tmp_path / "x.bundle"

    def refused(parts: dict[str, Any]) -> str:
        code, value = pack(run, two_targets | parts, bundle)
        assert code == 2
        assert not bundle.exists()
        return value["error"]["code"]

    unnamed = [str(word).replace("sm_75/", "") if "=" in str(word) else word for word in two_targets["engines"]]
    assert refused({"engines": unnamed}) == "pack.targets"
    assert refused({"targets": two_targets["targets"][:2]}) == "pack.targets"
    assert refused({"engines": two_targets["engines"][:4]}) == "pack.components"
    assert refused({"targets": [*two_targets["targets"], *two_targets["targets"][:2]]}) == "cli.target"


def test_several_targets_in_one_command(run: Run, tmp_path: Path, two_targets: dict[str, Any]) -> None:
    bundle, packed, report = tmp_path / "fat.bundle", tmp_path / "packed.bundle", tmp_path / "report.json"
    targets = (
        "--target",
        "sm_75",
        "--target",
        "cpu_x86_64",
        "--option",
        "profiles=shared",
        "--option",
        "kernels=trtmc",
    )
    code, value, log = run(
        two_targets["folder"], "-o", bundle, "--max-sequence", 64, *targets, "--report", report
    )  # fmt: skip
    assert code == 0, f"{value}\n{log}"
    assert (
        sorted(value["report"]["targets"])
        == ["cpu_x86_64", "sm_75"]
        == sorted(json.loads(report.read_text())["targets"])
    )
    assert pack(run, two_targets, packed)[0] == 0
    with read_bundle(bundle, verify="full") as one, read_bundle(packed) as steps:
        assert [target.name for target in one.header.targets] == ["cpu_x86_64", "sm_75"]
        assert one.header.weights == steps.header.weights
        names = {section.name for section in one.header.sections}
        assert names == {section.name for section in steps.header.sections}
        for name in names - {
            "engines/sm_75/llm.engine",
            "reports/sm_75/llm.json",
        }:  # this process has the system's heap
            assert bytes(one.section(name)) == bytes(steps.section(name)), name
    places = {path.name for path in tmp_path.iterdir()}
    assert places == {"model", "sm_75", "cpu_x86_64", "fat.bundle", "packed.bundle", "report.json"}


@pytest.mark.parametrize(
    ("words", "code", "slug"),
    [
        (("--target", "sm_75", "--target", "sm_75"), 2, "cli.target"),
        (("--target", "cpu_x86_64", "--target", "sm_42"), 2, "target.unknown"),
        (("--target", "cpu_x86_64", "--target", "sm_75", "--precision", "bf16"), 4, "target.precision"),
        (("--target", "cpu_x86_64", "--target", "sm_75", "--option", "speed=9"), 2, "compiler.option"),
        (("--target", "cpu_x86_64", "--target", "sm_75", "--option", "profiles=3"), 2, "compiler.option"),
    ],
)
def test_what_several_targets_refuse_before_any_work(
    run: Run, tmp_path: Path, words: tuple[str, ...], code: int, slug: str
) -> None:
    folder = model().write(tmp_path / "model", "BF16")
    found, value, log = run(folder, "-o", tmp_path / "x.bundle", *words)
    assert (found, value["error"]["code"]) == (code, slug)
    assert "loading weights" not in log
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_an_engine_is_for_one_target_by_name_or_by_file(run: Run, tmp_path: Path) -> None:
    folder = model().write(tmp_path / "model", "BF16")
    (tmp_path / "target.json").write_text(json.dumps(named_target("cpu_x86_64").to_json()))
    engines = []
    for place, words in (
        ("a", ("--target", "cpu_x86_64")),
        ("b", ("--target-info", tmp_path / "target.json")),
        ("c", ()),
    ):
        common = ("engine", "--family", "llama", "--checkpoint", folder, "--max-sequence", 64, *words)
        parts = ("--out-engine", tmp_path / place, "--out-contract", tmp_path / f"{place}.json")
        assert run(*common, *parts)[0] == 0
        engines.append((tmp_path / place).read_bytes())
    assert engines[0] == engines[1] == engines[2]
    words = ("--target", "cpu_x86_64", "--target", "sm_75", "--out-engine", tmp_path / "d")
    code, value, _ = run(
        "engine", "--family", "llama", "--checkpoint", folder, *words, "--out-contract", tmp_path / "e"
    )
    assert (code, value["error"]["code"]) == (2, "cli.target")
    code, value, _ = run(
        "pack", "--family", "llama", "--checkpoint", folder, "-o", tmp_path / "x.bundle", "--target", "cpu_x86_64",
        "--engine", f"llm={tmp_path / 'a'}", "--contract", f"llm={tmp_path / 'a.json'}",
    )  # fmt: skip
    assert code == 0, value


def test_only_what_belongs_together_is_packed(run: Run, tmp_path: Path, two_targets: dict[str, Any]) -> None:
    bundle = tmp_path / "x.bundle"

    def refused(parts: dict[str, Any], *words: str, slug: str = "pack.mismatch") -> None:
        code, value = pack(run, two_targets | parts, bundle)
        assert (code, value["error"]["code"]) == (3, slug), value
        for word in words:
            assert word in value["error"]["message"]
        assert not bundle.exists()

    def swapped(option: str) -> list[object]:
        """The files of the two targets exchanged, for one of the two options."""
        words, named = (
            list(two_targets["engines"]),
            [i + 1 for i, w in enumerate(two_targets["engines"]) if w == option],
        )
        (a, b), keys = (
            (str(words[i]).partition("=")[2] for i in named),
            [str(words[i]).partition("=")[0] for i in named],
        )
        words[named[0]], words[named[1]] = f"{keys[0]}={b}", f"{keys[1]}={a}"
        return words

    refused({"engines": swapped("--engine")}, "sm_75/llm.json", "cpu_x86_64/llm.engine", "SHA-256")
    refused({"engines": swapped("--contract")}, "cpu_x86_64/llm.json", "target cpu_x86_64", "packed as sm_75")
    other = model()
    other.tensors["model.norm.weight"][0] += 1
    refused({"folder": other.write(tmp_path / "other", "BF16")}, "sm_75/llm.json", "another checkpoint")
    place = tmp_path / "later"
    place.mkdir()
    (place / "target.json").write_text(json.dumps(named_target("sm_75").to_json() | {"compiler_version": "9.9.9"}))
    targets = ["--target-info", place / "target.json", *two_targets["targets"][2:]]
    refused({"targets": targets}, "later/target.json", "'compiler_version'", "9.9.9", slug="target.differs")
    contract = tmp_path / "sm_75" / "llm.json"
    value = json.loads(contract.read_text())
    contract.write_text(json.dumps(value | {"origin": {}}))
    code, answer = pack(run, two_targets, bundle)
    assert (code, answer["error"]["code"]) == (3, "contract.schema")
