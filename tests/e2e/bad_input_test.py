"""Bad input, one test per kind: exit code, the culprit's name in the message, nothing left behind.

Weight files, cut-short builds and tokenizers have their own files; here are checkpoints, bundles and prompts.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.e2e.kit.models import chain, tiny, walk_table, write_config
from tests.e2e.kit.product import built, refused, trtmc
from tests.e2e.kit.texts import CHATML, chatml, echo_bundle
from trtmc.bundle import read_bundle
from trtmc.core.errors import TrtmcError
from trtmc.e2e.tiny import Weights, write_safetensors


def test_bad_input_unknown_model_type(tmp_path: Path) -> None:
    config, _ = tiny(tmp_path / "m", "llama")
    write_config(tmp_path / "m", {**config, "model_type": "zebra"})
    refused(tmp_path / "m", "zebra", "model_type", exit_codes=[4])


def test_bad_input_no_config(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    refused(tmp_path / "m", "config.json", exit_codes=[3])


def test_bad_input_no_weights(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama")
    (tmp_path / "m" / "model.safetensors").unlink()
    refused(tmp_path / "m", "safetensors", exit_codes=[3])


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"model_type": "llama", "model_type": "qwen2"}', "\ufeff{}"])
def test_bad_input_config_that_is_no_object(tmp_path: Path, text: str) -> None:
    tiny(tmp_path / "m", "llama")
    (tmp_path / "m" / "config.json").write_text(text, encoding="utf-8")
    refused(tmp_path / "m", "config.json", exit_codes=[3])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", 0),
        ("hidden_size", -48),
        ("hidden_size", "48"),
        ("hidden_size", 48.5),
        ("hidden_size", True),
        ("num_attention_heads", 0),
        ("num_attention_heads", 7),
        ("num_key_value_heads", 3),
        ("num_hidden_layers", 0),
        ("vocab_size", None),
        ("rms_norm_eps", -1.0),
        ("rms_norm_eps", "nan"),
        ("rope_theta", 0.0),
        ("max_position_embeddings", 0),
    ],
)
def test_bad_input_a_config_value_without_meaning(tmp_path: Path, key: str, value: object) -> None:
    config, _ = tiny(tmp_path / "m", "llama")
    write_config(tmp_path / "m", {**config, key: value})
    refused(tmp_path / "m", key, "config.json")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("quantization_config", {"quant_method": "gptq", "bits": 4}),
        ("rope_scaling", {"rope_type": "longrope", "factor": 4.0}),
        ("sliding_window", 8),
        ("attention_multiplier", 0.5),
        ("logit_soft_cap", 30.0),
        ("num_experts", 8),
        ("partial_rotary_factor", 0.5),
        ("a_key_of_tomorrow", 1),
    ],
)
def test_bad_input_a_config_that_asks_for_what_we_lack(tmp_path: Path, key: str, value: object) -> None:
    config, _ = tiny(tmp_path / "m", "llama")
    write_config(tmp_path / "m", {**config, key: value})
    refused(tmp_path / "m", key, "config.json")


def test_bad_input_embedding_rows_and_vocab_size_differ(tmp_path: Path) -> None:
    config, _ = tiny(tmp_path / "m", "llama")
    write_config(tmp_path / "m", {**config, "vocab_size": 100})
    refused(tmp_path / "m", "model.embed_tokens.weight", "100", "97", exit_codes=[3])


@pytest.mark.parametrize("name", ["model.layers.1.self_attn.k_proj.weight", "model.norm.weight"])
def test_bad_input_a_missing_tensor(tmp_path: Path, name: str) -> None:
    tiny(tmp_path / "m", "llama", change=lambda weights: weights.__delitem__(name))
    refused(tmp_path / "m", name, exit_codes=[3])


def test_bad_input_a_leftover_tensor(tmp_path: Path) -> None:
    _, weights = tiny(tmp_path / "m", "llama")
    extra = "model.layers.2.mlp.up_proj.weight"
    write_safetensors(tmp_path / "m" / "model.safetensors", {**weights, extra: np.ones((80, 48), np.float32)})
    refused(tmp_path / "m", extra, exit_codes=[3])


def test_bad_input_a_tensor_of_the_wrong_type(tmp_path: Path) -> None:
    tiny(tmp_path / "m", "llama")
    path = tmp_path / "m" / "model.safetensors"
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["model.norm.weight"]["dtype"] = "I32"
    text = json.dumps(header, separators=(",", ":")).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    refused(tmp_path / "m", "model.norm.weight", "int32")


def test_bad_input_a_transposed_tensor(tmp_path: Path) -> None:
    def transpose(weights: Weights) -> None:
        weights["model.layers.0.mlp.up_proj.weight"] = np.ascontiguousarray(
            weights["model.layers.0.mlp.up_proj.weight"].T
        )

    tiny(tmp_path / "m", "llama", change=transpose)
    refused(tmp_path / "m", "model.layers.0.mlp.up_proj.weight", "[48, 80]", "[80, 48]", exit_codes=[3])


@pytest.fixture(scope="module")
def small_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    chain(folder / "m", walk_table([2, 3, 4], 16))
    return built(folder / "m")


def test_bad_input_a_bundle_flipped_at_any_byte(tmp_path: Path, small_bundle: Path) -> None:
    """Every byte of the fixed part and the header, and a spread of all others: each flip must be noticed."""
    data = bytearray(small_bundle.read_bytes())
    places = [*range(64), *range(64, 4096, 7), *range(4096, len(data), 997), len(data) - 1]
    path = tmp_path / "flipped.bundle"
    unnoticed = []
    for place in places:
        data[place] ^= 0x20
        path.write_bytes(data)
        data[place] ^= 0x20
        try:
            read_bundle(path, verify="full").header  # noqa: B018 (reading is the point)
            unnoticed.append(place)
        except TrtmcError as error:
            assert error.exit_code in (3, 4)
            assert str(path) in error.message
    assert unnoticed == []


def test_bad_input_a_bundle_cut_or_extended_anywhere(tmp_path: Path, small_bundle: Path) -> None:
    data = small_bundle.read_bytes()
    path = tmp_path / "cut.bundle"
    contents = [data[:size] for size in (0, 1, 7, 8, 63, 64, 100, 4095, 4096, 5000, len(data) // 2, len(data) - 1)]
    for content in [*contents, data + b"\0", data + data]:
        path.write_bytes(content)
        with pytest.raises(TrtmcError) as caught:
            read_bundle(path, verify="full")
        assert str(path) in caught.value.message


@pytest.mark.parametrize("place", [0, 9, 13, 17, 30, 60, 100, 5000, 20000, -1])
def test_bad_input_the_runtime_refuses_a_flipped_bundle(tmp_path: Path, small_bundle: Path, place: int) -> None:
    data = bytearray(small_bundle.read_bytes())
    data[place] ^= 0x20
    path = tmp_path / "flipped.bundle"
    path.write_bytes(data)
    for command in (["verify", str(path), "--json"], ["run", str(path), "--ids", "2", "--verify", "full", "--json"]):
        done = trtmc(*command)
        assert done.exit_code in (3, 4), done.stdout
        assert done.error_code.startswith("bundle.")
        assert str(path) in done.stderr


@pytest.mark.parametrize("size", [0, 5, 50, 4096, -1])
def test_bad_input_the_runtime_refuses_a_cut_bundle(tmp_path: Path, small_bundle: Path, size: int) -> None:
    path = tmp_path / "cut.bundle"
    path.write_bytes(small_bundle.read_bytes()[:size])
    done = trtmc("run", str(path), "--ids", "2", "--json")
    assert done.exit_code == 3
    assert done.error_code.startswith("bundle.")
    assert str(path) in done.stderr


def test_bad_input_no_such_bundle(tmp_path: Path) -> None:
    done = trtmc("run", str(tmp_path / "no.bundle"), "--ids", "2", "--json")
    assert done.exit_code == 3
    assert "no.bundle" in done.stderr


def test_bad_input_a_prompt_longer_than_the_capacity(tmp_path: Path, small_bundle: Path) -> None:
    done = trtmc("run", str(small_bundle), "--ids", ",".join(["2"] * 65), "--json")
    assert done.exit_code in (3, 7)
    assert done.says("65", "64")
    fits = trtmc("run", str(small_bundle), "--ids", ",".join(["2"] * 64), "--json", "-n", "5")
    assert fits.exit_code == 0
    assert fits.json["ids"][0] == 3
    del tmp_path


@pytest.mark.parametrize("ids", ["16", "-1", "99999999", "99999999999999999999", "2,x", "1.5"])
def test_bad_input_ids_that_the_model_lacks(small_bundle: Path, ids: str) -> None:
    done = trtmc("run", str(small_bundle), f"--ids={ids}", "--json")
    assert done.exit_code in (2, 3)
    assert ids.split(",")[-1] in done.stderr


@pytest.fixture(scope="module")
def chat_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return echo_bundle(tmp_path_factory.mktemp("chat") / "m", chatml(), CHATML)


@pytest.mark.parametrize("command", ["run", "chat"])
def test_bad_input_invalid_utf8(chat_bundle: Path, command: str) -> None:
    arguments = ["--prompt-file", "-"] if command == "run" else []
    done = trtmc(command, str(chat_bundle), *arguments, "--json", stdin=b"ab\xff\xfe\n")
    assert done.exit_code == 3
    assert "UTF-8" in done.stderr


@pytest.mark.parametrize("arguments", [["--prompt", ""], ["--prompt-file", "-"], ["--ids", ""]])
def test_bad_input_an_empty_prompt(chat_bundle: Path, arguments: list[str]) -> None:
    done = trtmc("run", str(chat_bundle), *arguments, "--json")
    assert done.exit_code == 3
    assert done.error_code == "generate.empty_prompt"


@pytest.mark.parametrize(
    "option",
    [
        "--top-p=0",
        "--top-p=1.5",
        "--top-p=nan",
        "--min-p=-0.1",
        "--min-p=2",
        "--repetition-penalty=0",
        "-n=-1",
    ],
)
def test_bad_input_a_meaningless_option_is_named(small_bundle: Path, option: str) -> None:
    done = trtmc("run", str(small_bundle), "--ids", "2", option, "--json")
    assert done.exit_code in (2, 3)
    word = {"-n": "new"}.get(option.split("=")[0], option.split("=")[0].lstrip("-").split("-")[0])
    assert word in done.stderr


@pytest.mark.parametrize(
    ("messages", "word"),
    [("{}", "array"), ("[1]", "message"), ("[", "JSON"), ("[]", "message")],
)
def test_bad_input_messages_that_are_no_conversation(chat_bundle: Path, messages: str, word: str) -> None:
    done = trtmc("chat", str(chat_bundle), "--messages", "-", "--json", stdin=messages)
    assert done.exit_code == 3
    assert word in done.stderr


def test_bad_input_an_empty_stop_text_is_named(chat_bundle: Path) -> None:
    done = trtmc("run", str(chat_bundle), "--prompt", "a", "--stop", "", "--json")
    assert done.exit_code in (2, 3)
    assert "stop" in done.stderr
