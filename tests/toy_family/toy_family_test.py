"""Adds the toy family the way docs/adding-a-family.md says, one folder, and builds and runs a model with it.

Each step is a process of its own, with a copy of `toy` on the import path as `families/toy`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from trtmc.testing import Tiny

FILES = ("MODEL.toml", "__init__.py", "artifacts.py", "configuration.py", "modeling_toy_llm.py", "weights.py")
WIDTH, LAYERS, HEADS, VOCAB = 16, 2, 2, 11


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """An import path with one more family."""
    folder = tmp_path / "path" / "families" / "toy"
    folder.mkdir(parents=True)
    for name in FILES:
        shutil.copyfile(Path(__file__).parent / "toy" / name, folder / name)
    return tmp_path / "path"


def toy() -> Tiny:
    rng = np.random.default_rng(7)
    shapes = {"wte.weight": (VOCAB, WIDTH), "ln_f.weight": (WIDTH,)}
    for layer in range(LAYERS):
        shapes |= {
            f"h.{layer}.norm.weight": (WIDTH,),
            f"h.{layer}.attn.qkv.weight": (3 * WIDTH, WIDTH),
            f"h.{layer}.attn.o_proj.weight": (WIDTH, WIDTH),
            f"h.{layer}.up.weight": (4 * WIDTH, WIDTH),
            f"h.{layer}.down.weight": (WIDTH, 4 * WIDTH),
        }
    config = {"model_type": "toy", "architectures": ["ToyForCausalLM"], "n_positions": 32, "vocab_size": VOCAB}
    config |= {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
    return Tiny(config, {name: rng.standard_normal(shape, dtype=np.float32) * 0.4 for name, shape in shapes.items()})


def python(world: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(world), *sys.path])}
    return subprocess.run([sys.executable, *arguments], env=environment, check=False, capture_output=True, text=True)


def rms(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * weight


def rotate(x: np.ndarray) -> np.ndarray:
    """x [tokens, heads, size], positions 0, 1, 2 …"""
    half = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None, None] * 10000.0 ** (-np.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate(
        [first * np.cos(angle) - second * np.sin(angle), second * np.cos(angle) + first * np.sin(angle)], -1
    )


def expected_logits(tensors: dict[str, np.ndarray], ids: list[int]) -> np.ndarray:
    """The toy's definition once more, in numpy."""
    w = {name: array.astype(np.float64) for name, array in tensors.items()}
    x, size = w["wte.weight"][ids], WIDTH // HEADS
    hidden_future = np.triu(np.full((len(ids), len(ids)), -np.inf), 1)
    for layer in range(LAYERS):
        path = f"h.{layer}."
        normed = rms(x, w[path + "norm.weight"])
        q, k, v = ((normed @ m.T).reshape(-1, HEADS, size) for m in np.split(w[path + "attn.qkv.weight"], 3))
        scores = np.einsum("thd,shd->hts", rotate(q), rotate(k)) / np.sqrt(size) + hidden_future
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = np.einsum("hts,shd->thd", weights / weights.sum(-1, keepdims=True), v).reshape(-1, WIDTH)
        inner = np.maximum(normed @ w[path + "up.weight"].T, 0)
        x = x + mixed @ w[path + "attn.o_proj.weight"].T + inner @ w[path + "down.weight"].T
    return rms(x, w["ln_f.weight"]) @ w["wte.weight"].T


LOGITS = """
import sys
from pathlib import Path
import numpy as np
from trtmc.bundle import read_bundle
from trtmc.compilers.openvino.session import DecoderSession, open_engine
from trtmc.core.config import read_json_object
from trtmc.core.contract import Contract
bundle = read_bundle(Path(sys.argv[1]))
value = bundle.header.to_json()["components"][0]["engines"][0]
contract = Contract.from_json({**value["contract"], "weights": value["weights"], "report": {}})
session = DecoderSession(open_engine(bundle.section("engines/llm.engine")), contract)
np.save(sys.argv[2], session.step([[int(i) for i in sys.argv[3].split(",")]], all_rows=True))
"""


def test_one_folder_is_all_it_takes(world: Path, tmp_path: Path) -> None:
    model, bundle = toy(), tmp_path / "toy.bundle"
    folder = model.write(tmp_path / "model")
    built = python(world, "-m", "trtmc.cli", str(folder), "-o", str(bundle), "--option", "kernels=openvino", "-q")
    assert built.returncode == 0, built.stderr
    header = json.loads(python(world, "-m", "trtmc.cli", "inspect", str(bundle), "--json").stdout)["header"]
    assert (header["family"], header["runtime_strategy"]) == ("toy", "toy_decoder_kv_cache")
    ids = [3, 1, 4, 1, 5, 9, 2]
    ran = python(world, "-c", LOGITS, str(bundle), str(tmp_path / "logits.npy"), ",".join(map(str, ids)))
    assert ran.returncode == 0, ran.stderr
    found = np.load(tmp_path / "logits.npy").reshape(len(ids), VOCAB)
    assert np.abs(found - expected_logits(model.tensors, ids)).max() < 1e-4


def test_its_config_is_read_strictly(world: Path, tmp_path: Path) -> None:
    model = toy()
    model.config["n_inner"] = 99
    done = python(world, "-m", "trtmc.cli", str(model.write(tmp_path / "model")), "-o", str(tmp_path / "x.bundle"))
    assert done.returncode == 4
    assert "unknown key 'n_inner' (99)" in done.stderr


def test_without_the_folder_nobody_knows_it(tmp_path: Path) -> None:
    done = python(tmp_path, "-m", "trtmc.cli", str(toy().write(tmp_path / "m")), "-o", str(tmp_path / "x.bundle"))
    assert done.returncode == 4
    assert "'model_type' is 'toy', which no family implements" in done.stderr


def test_the_page_shows_these_files() -> None:
    page = Path(__file__).parents[2] / "docs" / "adding-a-family.md"
    text = page.read_text("utf-8")
    assert [name for name in FILES if f"`{name}`" not in text and f"`{name.replace('toy', '<f>')}`" not in text] == []
